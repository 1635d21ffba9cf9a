import ArgumentParser
import FoundationEssentials
import Glibc
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Live states and rates, from the broker.",
        discussion: """
            On a terminal a table, drawn anew each second. In a pipe one line an event: a state, a presence that says \
            something new, a collector's health, and every ten seconds the rates.
            """)

    @OptionGroup var broker: BrokerOptions

    @Option(help: "YAML file with settings.")
    var config: String?

    @Option(help: "First levels of all topics (default: lockstep).")
    var root: String?

    @Option(help: "Only devices of this group.", transform: groupID)
    var group: GroupID?

    @Option(help: "Only this device.", transform: deviceID)
    var device: DeviceID?

    @Option(help: "End after so many seconds.")
    var seconds: Int?

    @Flag(help: "Events as JSON, one object a line.")
    var json = false

    func run() throws {
        let settings = try Settings(names: BrokerOptions.names + ["root"], file: config, ignoresOthers: true)
        let root = try settings.value("root", root) { try TopicRoot($0) } ?? .standard
        let address = try broker.address(settings)
        let tls = try broker.tls(settings)
        let wakeup = Wakeup()
        let interrupt = Interrupt(wakeup: wakeup)
        let id = "lockstep-watch-\(Epoch.random())"
        let link = BrokerLink(wakeup: wakeup, version: try broker.version(settings)) { version in
            MQTTOptions(address: address, clientID: id, version: version, tls: tls)
        }
        let session = WatchSession(
            link: link, address: address, filter: root.filter(group: group),
            model: WatchModel(root: root, device: device),
            lines: json || !Terminal.output.isInteractive ? WatchLines(isJSON: json) : nil)
        try session.run(until: seconds.map { .now + .seconds($0) }, interrupt)
    }
}

/// One run of `lockstep watch`: a broker's messages to a screen or to lines.
final class WatchSession {
    private let link: BrokerLink
    private let address: BrokerAddress
    private let filter: String
    private var model: WatchModel
    /// nil draws a screen.
    private let lines: WatchLines?
    private let display = WatchDisplay(terminal: .output)
    private var hasFailed = false
    private var refusal: MQTTError?
    private var dueAt: Int64 = 0

    init(link: BrokerLink, address: BrokerAddress, filter: String, model: WatchModel, lines: WatchLines?) {
        self.link = link
        self.address = address
        self.filter = filter
        self.model = model
        self.lines = lines
        link.onMessage = { [unowned self] message in self.handle(message) }
    }

    /// - Throws: ``CommandFailure`` if the broker refuses this client.
    func run(until end: ContinuousClock.Instant?, _ interrupt: Interrupt) throws {
        if lines == nil { display.begin() }
        defer { if lines == nil { display.end() } }
        dueAt = Moment.now().boot + (lines == nil ? 0 : 10_000_000)
        while !interrupt.hasCome, end.map({ .now < $0 }) ?? true {
            let pause = max(0, dueAt - Moment.now().boot)
            link.wait(until: min(end ?? .now + .seconds(60), .now + .microseconds(pause)))
            for event in link.read(limit: 1000) + link.write() { handle(event) }
            if let refusal { throw CommandFailure("\(address): \(refusal)") }
            showIfDue(at: .now())
        }
        link.stop(until: .now + .seconds(1))
    }

    private func showIfDue(at moment: Moment) {
        guard moment.boot >= dueAt else { return }
        if let lines {
            dueAt = moment.boot + 10_000_000
            for (address, device) in model.devices.sorted(by: { $0.key < $1.key }) {
                if let line = lines.rates(of: address, device, at: moment) { Terminal.output.write(line) }
            }
        } else {
            dueAt = moment.boot + 1_000_000
            let connection = link.isUp ? "\(address)" : Terminal.output.styled("\(address): not connected", .red)
            display.draw(model, connection: connection, at: moment)
        }
    }

    private func handle(_ message: IncomingMessage) {
        let moment = Moment.now()
        let event = model.handle(topic: message.topic, payload: Data(message.payload), at: moment)
        if let event, let lines { Terminal.output.write(lines.line(for: event, at: moment.wall)) }
    }

    private func handle(_ event: BrokerLink.Event) {
        switch event {
        case .connected:
            hasFailed = false
            do { try link.subscribe(to: filter, qos: .atMostOnce) } catch { refusal = error }
        case .subscribed(_, let isGranted):
            if !isGranted { refusal = MQTTError(.notAuthorized, "this user may not read '\(filter)'") }
        case .failed(let error, _), .disconnected(let error, _):
            switch error.code {
            case .badCredentials, .notAuthorized, .tls, .invalid: refusal = error
            default:
                if !hasFailed, lines != nil { complain("\(address): \(error); trying on") }
                hasFailed = true
            }
        case .published: break
        }
    }
}
