import LockstepCommandLine
import LockstepModel
import LockstepWire

/// The screen of `lockstep watch`. Each update overwrites the previous one line by line, so that it does not flicker.
struct WatchDisplay {
    private let terminal: Terminal

    init(terminal: Terminal) { self.terminal = terminal }

    /// Switches to the alternate screen.
    func begin() { terminal.writeControl(Array("\u{1B}[?1049h\u{1B}[?25l".utf8)) }
    /// Switches back to the normal screen.
    func end() { terminal.writeControl(Array("\u{1B}[?25h\u{1B}[?1049l".utf8)) }

    func draw(_ model: WatchModel, connection: String, at moment: Moment) {
        let size = terminal.size
        let lines = truncated(
            lines(model, connection: connection, columns: size.columns, at: moment), rows: size.rows)
        // Line wrapping is off while drawing, so that long lines are truncated.
        let text = lines.map(Terminal.escaped).joined(separator: "\u{1B}[K\r\n")
        terminal.writeControl(Array("\u{1B}[H\u{1B}[?7l\(text)\u{1B}[K\u{1B}[J\u{1B}[?7h".utf8))
    }

    /// Returns the lines of the screen: broker, collectors, devices and problems.
    /// - Parameter columns: the width of the screen.
    func lines(_ model: WatchModel, connection: String, columns: Int, at moment: Moment) -> [String] {
        var lines = [terminal.styled("lockstep watch", .bold) + "  \(connection)  \(moment.wall.shown)"]
        for (name, health) in model.collectors.sorted(by: { $0.key < $1.key }) {
            let style: Terminal.Style = health.status == .online ? .green : .red
            lines.append(
                "collector \(name)  \(terminal.styled(health.status.rawValue, style))  \(Self.counts(of: health))"
                    + (health.problem.map { "  \($0.printable)" } ?? ""))
        }
        lines.append("")
        guard !model.devices.isEmpty else {
            return lines + [terminal.styled("no devices", .faint)]
        }
        lines += table(model, columns: columns, at: moment)
        let notes = notes(model, at: moment)
        if !notes.isEmpty { lines += [""] + notes }
        return lines + ["", terminal.styled("Rates in samples/s. Press Ctrl-C to exit.", .faint)]
    }

    /// Returns the counters of a collector. They are unknown until its second report: the first one, at its start, has
    /// counted nothing yet.
    static func counts(of health: CollectorHealth) -> String {
        let isFirst = health.status == .online && health.started.map { health.at - $0 < 5_000_000 } ?? false
        func text(_ count: some BinaryInteger) -> String { isFirst && count == 0 ? "–" : "\(count)" }
        return "stored \(text(health.stored))  duplicates \(text(health.duplicates))  "
            + "conflicts \(text(health.conflicts))  rejected \(text(health.rejected))"
    }

    /// Returns the table with the full names of streams, or with their abbreviations and a legend if it is too wide for the
    /// screen. If that is still too wide, long names of devices are shortened too.
    private func table(_ model: WatchModel, columns: Int, at moment: Moment) -> [String] {
        let plain = Terminal(isInteractive: false, hasColours: false)
        let full = table(model, at: moment) { Self.title(of: $0) }
        guard full.lines(for: plain).contains(where: { $0.count > columns }) else { return full.lines(for: terminal) }
        let legend = model.streams.compactMap { stream in
            Self.abbreviations[stream.table].map { "\($0) \(stream.table)" }
        }
        var short = table(model, at: moment) { Self.abbreviations[$0.table] ?? Self.title(of: $0) }
        let excess = (short.lines(for: plain).map(\.count).max() ?? 0) - columns
        if excess > 0, let longest = short.rows.map(\.[0].text.count).max() {
            let width = max(Self.minNameWidth, longest - excess)
            for row in short.rows.indices {
                short.rows[row][0].text = Self.shortened(short.rows[row][0].text, to: width)
            }
        }
        return short.lines(for: terminal) + Self.wrapped(legend, columns: columns).map { terminal.styled($0, .faint) }
    }

    /// Joins words with commas, in lines of at most `columns` characters where that is possible.
    private static func wrapped(_ words: [String], columns: Int) -> [String] {
        words.reduce(into: [String]()) { lines, word in
            if let last = lines.last, last.count + word.count + 2 <= columns {
                lines[lines.count - 1] += ", " + word
            } else {
                lines.append(word)
            }
        }
    }

    /// The minimum width of a shortened name.
    private static let minNameWidth = 20

    /// Returns a name with at most `width` characters. It keeps the beginning and the end, in which names often differ.
    static func shortened(_ name: String, to width: Int) -> String {
        guard name.count > width else { return name }
        let end = (width - 1) / 2
        return "\(name.prefix(width - 1 - end))…\(name.suffix(end))"
    }

    /// The abbreviations of built-in streams with long names, by table.
    private static let abbreviations = [
        "accelerometer": "ACC", "gyroscope": "GYR", "magnetometer": "MAG", "device_motion": "ATT", "location": "LOC",
        "orientation": "ORI", "activity": "ACT", "pressure": "BARO", "altitude": "ALT", "heading": "HDG",
        "battery": "BAT",
    ]

    /// Returns the name of the stream's table, or the last level of the name of a user-declared stream such as `x/co2`.
    static func title(of stream: SensorStream) -> String {
        stream.name.hasPrefix("x/") ? String(stream.name.split(separator: "/").last ?? "") : stream.table
    }

    private func table(_ model: WatchModel, at moment: Moment, title: (SensorStream) -> String) -> Table {
        let streams = model.streams
        var table = Table(
            [.init("DEVICE"), .init("STATE"), .right("AGE")]
                + streams.map { .init(title($0).uppercased(), isRightAligned: true) }
                + [.right("LAST"), .init("PHASE")])
        for (address, device) in model.devices.sorted(by: { $0.key < $1.key }) {
            let state = device.transition?.to
            var row: [Table.Cell] = [
                .init(address.description, .bold), .init(state?.rawValue ?? "-", state?.style ?? .faint),
                .init(device.transition?.since.age(at: moment.wall) ?? "-"),
            ]
            for stream in streams {
                let rate = device.rate(of: stream, at: moment.boot)
                row.append(.init(rate > 0 ? Self.rateText(rate) : "-", rate > 0 ? .plain : .faint))
            }
            row.append(.init(device.newest?.age(at: moment.wall) ?? "-"))
            row.append(.init(device.presence?.phase.rawValue ?? "-"))
            table.rows.append(row)
        }
        return table
    }

    /// The problems of all devices, below the table because their texts can be long.
    private func notes(_ model: WatchModel, at moment: Moment) -> [String] {
        model.devices.sorted { $0.key < $1.key }.flatMap { address, device in
            var notes = device.sourceProblems
            let backlog = device.backlogRate(at: moment.boot)
            if backlog > 0 { notes.append("backlog \(Self.rateText(backlog))/s") }
            if let dropped = device.presence?.droppedSamples, dropped > 0 {
                notes.append(counted(dropped, "sample") + " dropped")
            }
            return notes.map { terminal.styled("\(address)  \($0)".printable, .yellow) }
        }
    }

    /// Limits the lines to the height of the screen. If lines are omitted, the last line shows their number.
    private func truncated(_ lines: [String], rows: Int) -> [String] {
        guard lines.count > rows else { return lines }
        return lines.prefix(rows - 1) + [terminal.styled("… \(lines.count - rows + 1) more lines", .faint)]
    }

    /// Returns a rate as text: `100`, `1.0`.
    static func rateText(_ rate: Double) -> String {
        rate >= 10 ? "\(Int(rate.rounded()))" : "\((rate * 10).rounded() / 10)"
    }
}
