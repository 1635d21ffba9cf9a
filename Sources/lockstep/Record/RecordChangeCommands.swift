import ArgumentParser
import LockstepCommandLine
import LockstepModel

struct RecordMarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mark", abstract: "Add a marker to a session.",
        discussion: """
            The time of the marker is that of this machine's clock when the command starts, or --at. A marker with the --id \
            of an earlier one replaces it, also after the end of the session.
            """)

    @Argument(help: "Text of the marker.")
    var text: String

    @Option(help: "Name or id of the session (default: the only one that is running).")
    var session: String?

    @Option(help: "Device that the marker is about.")
    var device: String?

    @Option(parsing: .unconditional, help: "Number that belongs to the marker.")
    var value: Double?

    @Option(help: "Length of an interval that begins at the marker, such as 2s.")
    var duration: String?

    @Option(parsing: .unconditional, help: "Time of the marker, such as 2026-11-21T09:30:00Z or -5s (default: now).")
    var at: String?

    @Option(help: "Id of the marker, unique within the session (default: random).")
    var id: String?

    @OptionGroup var options: SessionOptions

    func run() throws {
        let now = Moment.now().wall
        let marker = RecordingSession.Marker(
            id: id ?? "\(Epoch.random())", time: try at.map { try time($0, now: now) } ?? now, clock: .client,
            text: text,
            device: try device.map { try DeviceID(validating: $0) }, value: value,
            duration: try duration.map(parseDuration))
        try options.run { exchange in
            let key = try exchange.sessions.values.only(session, running: true).key
            try exchange.send(.mark(marker), to: key) { $0?.confirms(marker) == true }
            Terminal.output.write("\(key.id): \(Terminal.escaped(text)) at \(marker.time)\n")
        }
    }
}

struct RecordStopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Stop a session, and wait until it is complete.",
        discussion: """
            EXIT STATUS
              0  if everything that the devices have accepted is stored
              1  if something is missing
              2  if a device has not answered or still has samples: the session becomes complete by itself when
                 they arrive
            """)

    @Argument(help: "Name or id of the session (default: the only one that is running).")
    var session: String?

    @OptionGroup var options: SessionOptions

    func run() throws {
        try options.run { exchange in
            let key = try exchange.sessions.values.only(session, running: true).key
            try exchange.send(.stop, to: key) { $0?.end != nil }
            try Self.finish(key, exchange)
        }
    }

    /// Waits for the end of a session, and prints it.
    static func finish(_ key: RecordingSession.Key, _ exchange: SessionExchange) throws {
        var progress = ProgressLine()
        defer { progress.end() }
        func state() -> RecordingSession? { exchange.sessions[key] }
        try exchange.wait(until: { state()?.isRunning != true }) {
            if let session = state() { progress.show(SessionText.line(session)) }
        }
        progress.end()
        guard let session = state() else { throw CommandFailure("the session was deleted") }
        Terminal.output.write(SessionText.summary(session) + SessionText.table(session, for: .output))
        if session.exitStatus != 0 { throw ExitCode(session.exitStatus) }
    }
}

struct RecordEditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit", abstract: "Change name, labels and note of a session.")

    @Argument(help: "Name or id of the session.")
    var session: String

    @Option(help: "New name.")
    var name: String?

    @Option(
        help: ArgumentHelp("New label, or new value. May be repeated.", valueName: "key=value"), transform: sessionLabel
    )
    var label: [(key: String, value: String)] = []

    @Option(help: ArgumentHelp("Label to remove. May be repeated.", valueName: "key"))
    var removeLabel: [String] = []

    @Option(help: "New note; an empty one removes it.")
    var note: String?

    @OptionGroup var options: SessionOptions

    func validate() throws {
        guard name != nil || note != nil || !label.isEmpty || !removeLabel.isEmpty else {
            throw ValidationError("give --name, --label, --remove-label or --note")
        }
    }

    func run() throws {
        var labels: [String: String?] = [:]
        for (key, value) in label { labels[key] = .some(value) }
        for key in removeLabel { labels[key] = .some(nil) }
        try options.run { exchange in
            let session = try exchange.sessions.values.only(self.session)
            try exchange.send(.edit(name: name, labels: labels, note: note), to: session.key) { state in
                guard let state else { return false }
                return state.name == name ?? state.name && labels.allSatisfy { state.labels[$0.key] == $0.value }
                    && (note.map { state.note ?? "" == $0 } ?? true)
            }
        }
    }
}

struct RecordSplitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "split", abstract: "Divide a session that has ended into two.",
        discussion: """
            The session ends at the time, and a new one with the same devices, rates, labels and note begins there. Each \
            marker belongs to the part in which it begins. Both have the state of the whole. An incomplete part becomes \
            complete when the whole would, if each device has sent samples of its time.

            EXAMPLES
              lockstep record split "walk 3" --at 2026-11-21T09:30:00Z
              lockstep record split "walk 3" --marker turn --name "walk 3, back"
            """)

    @Argument(help: "Name or id of the session.")
    var session: String

    @Option(parsing: .unconditional, help: "Time of the division, such as 2026-11-21T09:30:00Z or -5m.")
    var at: String?

    @Option(help: "Divide at the marker with this text or id, of the newest 100.")
    var marker: String?

    @Option(help: "Name of the second part (default: that of the first, with a number).")
    var name: String?

    @OptionGroup var options: SessionOptions

    func validate() throws {
        guard (at == nil) != (marker == nil) else { throw ValidationError("give either --at or --marker") }
    }

    func run() throws {
        try options.run { exchange in
            let session = try exchange.sessions.values.only(self.session)
            let group = session.key.group
            guard let start = session.start, let end = session.end, !session.isRunning else {
                throw CommandFailure("the session '\(session.key.id)' has not ended: stop it first")
            }
            let division = try at.map { try time($0, now: Moment.now().wall) } ?? begin(of: marker ?? "", in: session)
            guard start < division, division < end else {
                throw CommandFailure("\(division) is not between start and end of the session, \(start) and \(end)")
            }
            let others = exchange.sessions.values.filter { $0.key.group == group }.map(\.name)
            let number = (2...).first { !others.contains("\(session.name), \($0)") } ?? 2
            let name = name ?? "\(session.name), \(number)"
            let id = SessionID.named(name) { exchange.sessions[.init(group: group, id: $0)] != nil }
            let second = RecordingSession.Key(group: group, id: id)
            try exchange.send(.split(at: division, id: id, name: name), to: session.key) { state in
                state?.end == division && exchange.sessions[second] != nil
            }
            for key in [session.key, second] {
                if let part = exchange.sessions[key] { Terminal.output.write(SessionText.summary(part)) }
            }
        }
    }

    private func begin(of marker: String, in session: RecordingSession) throws -> Timestamp {
        let found = session.markers.filter { $0.id == marker || $0.text == marker }
        guard let first = found.first else { throw CommandFailure("the session has no marker '\(marker)'") }
        guard found.count == 1 else {
            throw CommandFailure("several markers match: use one of the ids \(found.map(\.id).joined(separator: ", "))")
        }
        return first.time
    }
}

struct RecordDeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a session with its labels and markers. Its samples stay.",
        discussion: "To delete samples, use 'lockstep delete'.")

    @Argument(help: "Name or id of the session.")
    var session: String

    @OptionGroup var options: SessionOptions

    func run() throws {
        try options.run { exchange in
            let key = try exchange.sessions.values.only(session).key
            try exchange.send(.delete, to: key) { $0 == nil }
            Terminal.output.write("Deleted the session \(key.id) of the group \(key.group). Its samples stay.\n")
        }
    }
}
