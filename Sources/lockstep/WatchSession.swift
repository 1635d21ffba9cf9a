import FoundationEssentials
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

/// One run of `lockstep watch`: a broker's messages to a screen or to lines.
final class WatchSession {
    private let link: BrokerLink
    private let address: BrokerAddress
    private let filter: String
    private var model: WatchModel
    /// nil draws a screen.
    private let lines: WatchLines?
    private let display = WatchDisplay(terminal: .output)
    /// Why there is no connection, since when it was last there.
    private var trouble: MQTTError?
    /// What trying on can't mend.
    private var refusal: MQTTError?
    /// When the screen or the rates are due, in µs since boot.
    private var dueAt: Int64 = 0
    private static let ratesInterval: Int64 = 10_000_000

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
        // A moment for the connection and what the broker retains, so that the first screen is not an empty one.
        dueAt = Moment.now().boot + (lines == nil ? 300_000 : Self.ratesInterval)
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
            dueAt = moment.boot + Self.ratesInterval
            // Without a connection nothing is known of rates.
            for (address, device) in link.isUp ? model.devices.sorted(by: { $0.key < $1.key }) : [] {
                if let line = lines.rates(of: address, device, at: moment) { Terminal.output.write(line) }
            }
        } else {
            dueAt = moment.boot + 1_000_000
            display.draw(model, connection: connection, at: moment)
        }
    }

    private var connection: String {
        if link.isUp { return "\(address)" }
        guard let trouble else { return "\(address): connecting" }
        return Terminal.output.styled("\(address): not connected: \(trouble)", .red)
    }

    private func handle(_ message: IncomingMessage) {
        let moment = Moment.now()
        let event = model.handle(
            topic: message.topic, payload: Data(message.payload), contentType: message.contentType, at: moment)
        if let event, let lines { Terminal.output.write(lines.line(for: event, at: moment.wall)) }
    }

    private func handle(_ event: BrokerLink.Event) {
        switch event {
        case .connected:
            if trouble != nil, lines != nil { Terminal.complain("\(address): connected") }
            trouble = nil
            model.startListening()
            do { try link.subscribe(to: filter, qos: .atMostOnce) } catch { refusal = error }
        case .subscribed(_, let isGranted):
            if !isGranted { refusal = MQTTError(.notAuthorized, "this user may not read '\(filter)'") }
        case .failed(let error, _), .disconnected(let error, _):
            switch error.code {
            case .badCredentials, .notAuthorized, .tls, .invalid: refusal = error
            default:
                if trouble == nil, lines != nil { Terminal.complain("\(address): \(error); trying on") }
                trouble = error
            }
        case .published: break
        }
    }
}
