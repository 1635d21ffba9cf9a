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
        let size = terminal.size
        var lines = [terminal.styled("lockstep watch", .bold) + "  \(connection)  \(moment.wall.toTheSecond)"]
        for (name, health) in model.collectors.sorted(by: { $0.key < $1.key }) {
            let style: Terminal.Style = health.status == .online ? .green : .red
            lines.append(
                "collector \(name)  \(terminal.styled(health.status.rawValue, style))  stored \(health.stored)  "
                    + "duplicates \(health.duplicates)  conflicts \(health.conflicts)  rejected \(health.rejected)"
                    + (health.problem.map { "  \($0)" } ?? ""))
        }
        lines.append("")
        lines += Self.table(model, at: moment).lines(for: terminal)
        if lines.count > size.rows {
            let hidden = lines.count - size.rows + 1
            lines = lines.prefix(size.rows - 1) + [terminal.styled("… \(hidden) more", .faint)]
        }
        // No wrapping while drawing: a long line is cut at the edge.
        terminal.write("\u{1B}[H\u{1B}[?7l" + lines.joined(separator: "\u{1B}[K\r\n") + "\u{1B}[K\u{1B}[J\u{1B}[?7h")
    }

    static func table(_ model: WatchModel, at moment: Moment) -> Table {
        var table = Table(
            [.init("DEVICE"), .init("STATE"), .init("FOR", isRightAligned: true)]
                + SensorStream.all.map { .init($0.table.prefix(5).uppercased() + "/s", isRightAligned: true) }
                + [.init("NEWEST", isRightAligned: true), .init("NOTES")])
        for (address, device) in model.devices.sorted(by: { $0.key < $1.key }) {
            let state = device.transition?.to
            var row: [Table.Cell] = [
                .init(address.description, .bold), .init(state?.rawValue ?? "-", state?.style ?? .faint),
                .init(device.transition?.since.age(at: moment.wall) ?? "-"),
            ]
            for stream in SensorStream.all {
                let rate = device.rate(of: stream, at: moment.boot)
                row.append(.init(rate > 0 ? rateText(rate) : "-", rate > 0 ? .plain : .faint))
            }
            row.append(.init(device.newest?.age(at: moment.wall) ?? "-"))
            row.append(.init(notes(of: device), .yellow))
            table.rows.append(row)
        }
        return table
    }

    /// `100`, `1.0`
    static func rateText(_ rate: Double) -> String {
        rate >= 10 ? "\(Int(rate.rounded()))" : "\((rate * 10).rounded() / 10)"
    }

    private static func notes(of device: WatchModel.Device) -> String {
        var notes = device.troubles
        if let dropped = device.presence?.droppedSamples, dropped > 0 { notes.append("\(dropped) samples dropped") }
        return notes.joined(separator: "; ")
    }
}
