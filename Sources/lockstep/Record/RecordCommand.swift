import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepStore

struct RecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Record sessions of several devices, with labels and markers.",
        discussion: """
            A session is a named range of time on the collector's clock. Its devices are asked for their rates while it is \
            prepared and recorded. After its end, the collector waits until everything that they have accepted is \
            stored. docs/sessions.md explains states and limits.

            'start', 'mark', 'stop', 'edit', 'split' and 'delete' connect to the broker, and the collector carries them out. 'list' \
            and 'show' read the store. Export a session with 'lockstep export session NAME'.

            EXAMPLES
              lockstep record start "walk 3" --group lab --rate motion/accelerometer=200 --label subject=7
              lockstep record mark turn
              lockstep record stop
              lockstep record list --store sqlite:samples.db --label subject=7
              lockstep record show "walk 3" --store sqlite:samples.db
            """,
        subcommands: [
            RecordStartCommand.self, RecordMarkCommand.self, RecordStopCommand.self, RecordListCommand.self,
            RecordShowCommand.self, RecordEditCommand.self, RecordSplitCommand.self, RecordDeleteCommand.self,
        ])
}

/// The broker and the session of a command that changes one.
struct SessionOptions: ParsableArguments {
    @Option(help: "Group of the session (default: any; of a new session: default).", transform: groupID)
    var group: GroupID?

    @OptionGroup var connection: ConnectionOptions

    /// Runs a command over a connection. Ctrl-C ends the command, not the session.
    func run(_ body: (SessionExchange) throws -> Void) throws {
        let exchange = try SessionExchange(connection, group: group)
        defer { exchange.close() }
        do { try body(exchange) } catch let interruption as SessionInterruption {
            Terminal.writeError("interrupted: the session goes on")
            throw ExitCode(128 + interruption.signal)
        }
    }
}

/// Parses a label, `KEY=VALUE`, for `@Option(transform:)`.
func sessionLabel(_ text: String) throws -> (key: String, value: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty else { throw CommandFailure("'\(text)' is not a label: use KEY=VALUE") }
    return (parts[0], parts[1])
}

struct RecordStartCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Start a session, and wait until it is recording.",
        discussion: """
            The session starts one second after all devices are ready: each stream of --rate arrives at 90 % of its rate or \
            more, and each clock is within --clock-bound. After --within it starts anyway, and the devices that are not \
            ready are named. Without --device, all devices of the group take part, also those that appear later.

            With --at, the session has started in the past: what is stored since then belongs to it, and nothing is waited for.

            With --for, the command waits for the end, and its exit status is that of 'lockstep record stop'.
            """)

    @Argument(help: "Name of the session.")
    var name: String

    @Option(help: "Id of the session, for topics and scripts (default: made from the name).")
    var id: String?

    @Option(help: "Only this device. May be repeated.", transform: DeviceArgument.init(parsing:))
    var device: [DeviceArgument] = []

    @Flag(help: "Accept a --device that the broker does not know, because it will send for the first time.")
    var newDevices = false

    @Option(
        help: ArgumentHelp("Rate of a stream, in samples per second. May be repeated.", valueName: "stream=hz"))
    var rate: [String] = []

    @Option(help: ArgumentHelp("Label. May be repeated.", valueName: "key=value"), transform: sessionLabel)
    var label: [(key: String, value: String)] = []

    @Option(help: "Note.")
    var note: String?

    @Option(help: "Largest error that the clock of each device may have, such as 1ms.")
    var clockBound: String?

    @Option(name: .customLong("for"), help: "Stop by itself after this time, such as 10m.")
    var length: String?

    @Option(help: "Time that devices have to become ready (default: 30s).")
    var within: String?

    @Option(
        parsing: .unconditional,
        help: "Start in the past, such as -30s or 2026-11-21T09:30:00Z (default: when the devices are ready).")
    var at: String?

    @OptionGroup var options: SessionOptions

    func run() throws {
        var session = RecordingSession(
            key: .init(group: options.group ?? .standard, id: SessionID(unchecked: "")), name: name,
            created: Moment.now().wall)
        session.includesGroup = device.isEmpty
        for argument in device {
            try argument.check(group: session.key.group)
            session.devices[argument.device] = .init(joined: session.created)
        }
        for text in rate {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let hz = Double(parts[1]), RateLease.validRates.contains(hz) else {
                throw CommandFailure("--rate: '\(text)' is not STREAM=HZ, such as motion/accelerometer=200")
            }
            guard let stream = StreamCatalog.builtIn.reference(named: parts[0]) else {
                throw CommandFailure(
                    "--rate: unknown stream '\(parts[0])'"
                        + Suggestion.text(for: parts[0], among: StreamCatalog.builtIn.streams.map(\.name)))
            }
            session.rates[stream.name] = hz
        }
        for (key, value) in label { session.labels[key] = value }
        session.note = note
        session.clockBound = try clockBound.map(parseDuration)
        session.length = try length.map(parseDuration)
        let start = try at.map { try time($0, now: session.created) }
        if let start, start > session.created { throw CommandFailure("--at: \(start) is in the future") }
        session.start = start
        session.patience = try within.map(parseDuration) ?? session.patience
        try options.run { exchange in
            if !device.isEmpty, !newDevices { try checkDevices(of: session.key.group) }
            let key = RecordingSession.Key(group: session.key.group, id: try newID(among: exchange))
            session.key = key
            if exchange.sessions.contains(where: { $0.key.group == key.group && $0.value.name == name }) {
                Terminal.writeError("note: another session has this name; the id of the new one is \(key.id)")
            }
            var progress = ProgressLine()
            defer { progress.end() }
            try exchange.send(.start(session), to: key) { $0 != nil }
            func state() -> RecordingSession? { exchange.sessions[key] }
            func isWaiting() -> Bool { state().map { [.preparing, .armed].contains($0.state) } ?? false }
            try exchange.wait(until: { !isWaiting() }) {
                if let session = state() { progress.show(SessionText.line(session)) }
            }
            progress.end()
            guard let started = state() else { throw CommandFailure("the session was deleted") }
            Terminal.output.write(SessionText.started(started))
            if session.length != nil { try RecordStopCommand.finish(key, exchange) }
        }
    }

    /// Throws if the broker knows no state and presence of a device, which is probably misspelt.
    private func checkDevices(of group: GroupID) throws {
        let connection = options.connection
        let settings = try connection.settings()
        let known = try connection.devices(named: nil, settings, try connection.topicRoot(settings))
        // This user may not be allowed to see the devices.
        guard !known.isEmpty else { return }
        do { _ = try device.addresses(in: group, among: known, place: "at this broker") } catch {
            throw CommandFailure("\(error), or add --new-devices for one that has never sent anything")
        }
    }

    /// Returns the id: that of the option, or one made from the name that no session has.
    private func newID(among exchange: SessionExchange) throws -> SessionID {
        let group = options.group ?? .standard
        func isKnown(_ id: SessionID) -> Bool { exchange.sessions[.init(group: group, id: id)] != nil }
        guard let id else { return SessionID.named(name, isKnown: isKnown) }
        let valid = try SessionID(validating: id)
        guard !isKnown(valid) else { throw CommandFailure("there is a session with the id '\(id)'") }
        return valid
    }
}
