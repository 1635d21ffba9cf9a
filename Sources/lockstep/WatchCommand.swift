import ArgumentParser
import FoundationEssentials
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepSystem
import LockstepWire

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show the states and rates of all devices live.",
        discussion: """
            On a terminal, shows a table that is updated every second. Otherwise, prints a line for each change of a \
            device's state, of its presence (the report of its agent) or of a collector's health, and prints the \
            rates every ten seconds. With --batches, also prints a line for each batch. With --batches and --json, \
            that line contains the samples, in JSON even if they were sent as CBOR.
            """)

    @Option(help: "Only devices of this group.", transform: groupID)
    var group: GroupID?

    @Option(
        help: "Only this device, as [GROUP/]DEVICE; without a group, in any group.",
        transform: DeviceArgument.init(parsing:))
    var device: DeviceArgument?

    @Option(help: "Exit after this number of seconds.")
    var seconds: Int?

    @OptionGroup var zone: ZoneOptions

    @Flag(help: "Print lines instead of a table, each with one JSON object.")
    var json = false

    @Flag(help: "Print lines instead of a table, including one for each batch of samples.")
    var batches = false

    @OptionGroup var connection: ConnectionOptions

    func run() throws {
        try device?.check(group: group)
        let settings = try connection.settings()
        let root = try connection.topicRoot(settings)
        if let device, case let known = try connection.devices(named: device, settings, root), !known.isEmpty,
            !known.contains(where: device.selects)
        {
            Terminal.writeError(
                "no device '\(device)' at this broker yet\(Suggestion.text(for: device, among: known))")
        }
        let (link, address) = try connection.link(settings, for: "watch")
        let interrupt = Interrupt(wakeup: link.wakeup)
        let session = WatchSession(
            link: link, address: address, filter: root.filter(group: group ?? device?.group),
            model: WatchModel(root: root, device: device, reportsBatches: batches),
            lines: json || batches || !Terminal.output.isInteractive ? WatchLines(isJSON: json) : nil)
        try session.run(until: seconds.map { .now + .seconds($0) }, interrupt)
    }
}

/// One run of `lockstep watch`: it receives messages, and updates a screen or prints lines.
final class WatchSession {
    private let session: BrokerSession
    private let address: BrokerAddress
    private var model: WatchModel
    /// The output as lines; nil for a screen.
    private let lines: WatchLines?
    private let display = WatchDisplay(terminal: .output)
    /// The error that interrupted the connection; nil while connected.
    private var connectionError: MQTTError?
    /// Whether the broker has accepted a connection.
    private var hasConnected = false
    /// An error that retrying cannot resolve.
    private var permanentError: MQTTError?
    /// The time of the next screen update, or of the next lines with rates, in µs of the boot clock.
    private var nextUpdateAt: Int64 = 0
    /// The time between lines with rates, in µs.
    private static let ratesInterval: Int64 = 10_000_000

    init(link: BrokerLink, address: BrokerAddress, filter: String, model: WatchModel, lines: WatchLines?) {
        session = BrokerSession(link, qos: .atMostOnce, filters: { [filter] })
        self.address = address
        self.model = model
        self.lines = lines
        link.onMessage = { [unowned self] message in self.handle(message) }
    }

    /// Runs until the end, or until the user interrupts it.
    /// - Throws: ``CommandFailure`` for an error that retrying cannot resolve, or if there was no connection until the end.
    func run(until end: ContinuousClock.Instant?, _ interrupt: Interrupt) throws {
        if lines == nil { display.begin() }
        defer { if lines == nil { display.end() } }
        // Wait for the connection and retained messages, so that the first screen is not empty.
        nextUpdateAt = Moment.now().boot + (lines == nil ? 300_000 : Self.ratesInterval)
        while !interrupt.isSet, end.map({ .now < $0 }) ?? true {
            let pause = max(0, nextUpdateAt - Moment.now().boot)
            let deadline = min(end ?? .now + .seconds(60), .now + .microseconds(pause))
            for event in session.next(until: deadline) + session.send() { handle(event) }
            if let permanentError { throw CommandFailure("\(address): \(permanentError)") }
            updateIfNeeded(at: .now())
        }
        session.close()
        guard hasConnected || interrupt.isSet else {
            throw CommandFailure("\(address): \(connectionError?.description ?? "no connection")")
        }
    }

    private func updateIfNeeded(at moment: Moment) {
        guard moment.boot >= nextUpdateAt else { return }
        if let lines {
            nextUpdateAt = moment.boot + Self.ratesInterval
            // Without a connection, rates are unknown.
            for (address, device) in session.link.isUp ? model.devices.sorted(by: { $0.key < $1.key }) : [] {
                if let line = lines.rates(of: address, device, at: moment) { Terminal.output.write(line) }
            }
        } else {
            nextUpdateAt = moment.boot + 1_000_000
            display.draw(model, connection: connectionText, at: moment)
        }
    }

    /// The broker and the state of the connection, for the first line of the screen.
    private var connectionText: String {
        if session.link.isUp { return "\(address)" }
        guard let connectionError else { return "\(address): connecting" }
        return Terminal.output.styled("\(address): not connected: \(connectionError)", .red)
    }

    private func handle(_ message: IncomingMessage) {
        let moment = Moment.now()
        let event = model.handle(
            topic: message.topic, payload: Data(message.payload), contentType: message.contentType, at: moment)
        if let event, let lines { Terminal.output.write(lines.line(for: event, at: moment.wall)) }
    }

    private func handle(_ event: BrokerSession.Event) {
        switch event {
        case .connected:
            if connectionError != nil, lines != nil { Terminal.writeError("\(address): connected") }
            connectionError = nil
            hasConnected = true
            model.didConnect()
        case .denied(_, let error): permanentError = error
        case .interrupted(let error, _) where error.isPermanent: permanentError = error
        case .interrupted(let error, _):
            if connectionError == nil, lines != nil { Terminal.writeError("\(address): \(error); retrying") }
            connectionError = error
        case .ready, .published: break
        }
    }
}
