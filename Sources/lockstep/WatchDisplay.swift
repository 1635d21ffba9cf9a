import LockstepCommandLine
import LockstepModel
import LockstepWire

/// The screen of `lockstep watch` on a terminal: drawn over itself, line by line, so that it stays calm.
struct WatchDisplay {
    private let terminal: Terminal

    init(terminal: Terminal) { self.terminal = terminal }

    /// Turns to a screen of its own, and back.
    func begin() { terminal.write("\u{1B}[?1049h\u{1B}[?25l") }
    func end() { terminal.write("\u{1B}[?25h\u{1B}[?1049l") }

    func draw(_ model: WatchModel, connection: String, at moment: Moment) {
        let lines = fitting(lines(model, connection: connection, at: moment), rows: terminal.size.rows)
        // No wrapping while drawing: a long line is cut at the edge.
        terminal.write("\u{1B}[H\u{1B}[?7l" + lines.joined(separator: "\u{1B}[K\r\n") + "\u{1B}[K\u{1B}[J\u{1B}[?7h")
    }

    /// The whole screen: broker, collectors, devices, and what is not well.
    func lines(_ model: WatchModel, connection: String, at moment: Moment) -> [String] {
        var lines = [terminal.styled("lockstep watch", .bold) + "  \(connection)  \(moment.wall.toTheSecond)"]
        for (name, health) in model.collectors.sorted(by: { $0.key < $1.key }) {
            let style: Terminal.Style = health.status == .online ? .green : .red
            lines.append(
                "collector \(name)  \(terminal.styled(health.status.rawValue, style))  stored \(health.stored)  "
                    + "duplicates \(health.duplicates)  conflicts \(health.conflicts)  rejected \(health.rejected)"
                    + (health.problem.map { "  \($0.printable)" } ?? ""))
        }
        lines.append("")
        guard !model.devices.isEmpty else {
            return lines + [terminal.styled("no device has been heard of yet", .faint)]
        }
        lines += table(model, at: moment).lines(for: terminal)
        let notes = notes(model, at: moment)
        if !notes.isEmpty { lines += [""] + notes }
        return lines + ["", terminal.styled("Streams in samples/s. ^C ends.", .faint)]
    }

    private func table(_ model: WatchModel, at moment: Moment) -> Table {
        var table = Table(
            [.init("DEVICE"), .init("STATE"), .init("FOR", isRightAligned: true)]
                + model.streams.map { .init(Self.heading($0), isRightAligned: true) }
                + [.init("LAST", isRightAligned: true), .init("PHASE")])
        for (address, device) in model.devices.sorted(by: { $0.key < $1.key }) {
            let state = device.transition?.to
            var row: [Table.Cell] = [
                .init(address.description, .bold), .init(state?.rawValue ?? "-", state?.style ?? .faint),
                .init(device.transition?.since.age(at: moment.wall) ?? "-"),
            ]
            for stream in model.streams {
                let rate = device.rate(of: stream, at: moment.boot)
                row.append(.init(rate > 0 ? Self.rateText(rate) : "-", rate > 0 ? .plain : .faint))
            }
            row.append(.init(device.newest?.age(at: moment.wall) ?? "-"))
            row.append(.init(device.presence?.phase.rawValue ?? "-"))
            table.rows.append(row)
        }
        return table
    }

    /// The first letters of a stream's table, or of the last level of a declared stream's name.
    private static func heading(_ stream: SensorStream) -> String {
        let name = stream.isDeclared ? stream.name.split(separator: "/").last ?? "" : stream.table[...]
        return name.prefix(4).uppercased()
    }

    /// Below the table, because a source may have much to say.
    private func notes(_ model: WatchModel, at moment: Moment) -> [String] {
        model.devices.sorted { $0.key < $1.key }.flatMap { address, device in
            var notes = device.troubles
            let backlog = device.backlogRate(at: moment.boot)
            if backlog > 0 { notes.append("backlog \(Self.rateText(backlog))/s") }
            if let dropped = device.presence?.droppedSamples, dropped > 0 { notes.append("\(dropped) samples dropped") }
            return notes.map { terminal.styled("\(address)  \($0)".printable, .yellow) }
        }
    }

    /// As many lines as the screen has, the last one to tell how many more there are.
    private func fitting(_ lines: [String], rows: Int) -> [String] {
        guard lines.count > rows else { return lines }
        return lines.prefix(rows - 1) + [terminal.styled("… \(lines.count - rows + 1) more lines", .faint)]
    }

    /// `100`, `1.0`
    static func rateText(_ rate: Double) -> String {
        rate >= 10 ? "\(Int(rate.rounded()))" : "\((rate * 10).rounded() / 10)"
    }
}
