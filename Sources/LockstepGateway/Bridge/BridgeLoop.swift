import LockstepMQTT
import LockstepModel
import Logging
import ServiceLifecycle

/// What one bridge makes of the messages of a broker, as a value without I/O.
protocol Bridge: Sendable {
    /// The other system, for the log.
    static var target: String { get }
    /// What the bridge is for it, such as `for Home Assistant`.
    static var role: String { get }

    var connection: BridgeConnection { get }
    var filters: [String] { get }
    /// Begins a connection, and returns its last will.
    mutating func will() -> MQTTMessage
    /// Notes that the connection is up, and returns what to publish first.
    mutating func didConnect(at moment: Moment) -> [MQTTMessage]
    mutating func handle(_ message: IncomingMessage, at moment: Moment) throws
    /// Returns what to publish now.
    mutating func takeMessages(isConnected: Bool, at moment: Moment) -> [MQTTMessage]
    /// Returns the first device that was left out, and why, once.
    mutating func takeLeftOut() -> (device: DeviceAddress, reason: String)?
    /// The message of a clean end, which does not publish the will.
    var farewell: MQTTMessage { get }
}

extension Bridge {
    mutating func takeLeftOut() -> (device: DeviceAddress, reason: String)? { nil }
}

struct BridgeConnection {
    var broker: BrokerAccess
    var clientID: String
    /// What the log names beside the broker.
    var name: (key: String, value: String)
}

/// Runs a bridge until the surrounding task or service group shuts down.
func runBridge(_ bridge: some Bridge, label: String, logger: Logger) async {
    let thread = LoopThread(label)
    await withTaskCancellationOrGracefulShutdownHandler {
        await thread.run {
            let loop = BridgeLoop(bridge, wakeup: thread.wakeup, logger: logger)
            while !thread.isStopping { loop.turn() }
            loop.stop()
        }
    } onCancelOrGracefulShutdown: {
        thread.stop()
    }
}

/// The loop of a bridge. One thread owns it.
private final class BridgeLoop<Content: Bridge> {
    /// The bridge, which also the options of a connection need.
    private final class State {
        var bridge: Content
        init(_ bridge: Content) { self.bridge = bridge }
    }

    private let logger: Logger
    private let session: BrokerSession
    private let state: State

    init(_ bridge: Content, wakeup: Wakeup, logger: Logger) {
        self.logger = logger
        let (state, connection) = (State(bridge), bridge.connection)
        self.state = state
        let link = BrokerLink(wakeup: wakeup, version: connection.broker.version) { version in
            connection.broker.options(
                clientID: connection.clientID, version: version, will: state.bridge.will())
        }
        session = BrokerSession(link, filters: { state.bridge.filters })
        link.onMessage = { [unowned self] message in receive(message) }
    }

    func turn() {
        for event in session.next(until: .now + .milliseconds(500)) { handle(event) }
        publish(state.bridge.takeMessages(isConnected: session.link.isUp, at: .now()))
        if let leftOut = state.bridge.takeLeftOut() {
            logger.info(
                "devices left out \(Content.role)",
                metadata: ["first": "\(leftOut.device)", "reason": "\(leftOut.reason)"])
        }
        for event in session.send() { handle(event) }
    }

    func stop() {
        if session.link.isUp { publish([state.bridge.farewell]) }
        for event in session.send() { handle(event) }
        session.close()
    }

    private func publish(_ messages: [MQTTMessage]) {
        for message in messages {
            do { try session.link.publish(message) } catch {
                logger.error(
                    "cannot publish to \(Content.target)",
                    metadata: ["topic": "\(message.topic)", "error": "\(error)"])
            }
        }
    }

    private func receive(_ message: IncomingMessage) {
        do { try state.bridge.handle(message, at: .now()) } catch {
            logger.debug("message unreadable", metadata: ["topic": "\(message.topic)", "error": "\(error)"])
        }
    }

    private func handle(_ event: BrokerSession.Event) {
        let connection = state.bridge.connection
        switch event {
        case .connected:
            publish(state.bridge.didConnect(at: .now()))
            logger.info(
                "connected \(Content.role)",
                metadata: ["broker": "\(connection.broker)", connection.name.key: "\(connection.name.value)"])
        case .denied(_, let error):
            logger.error(
                "subscription refused by broker",
                metadata: [
                    "error": "\(error)",
                    "hint": "give this user the rights of a gateway, see broker-config/production.acl",
                ])
        case .published(_, let refusal):
            if let refusal {
                logger.error("message to \(Content.target) refused by broker", metadata: ["error": "\(refusal)"])
            }
        case .ready: break
        case .interrupted(let error, _):
            logger.warning(
                "no connection \(Content.role), retrying",
                metadata: ["broker": "\(connection.broker)", "error": "\(error)"])
        }
    }
}

/// Whether a device is connected, from its state and its presence.
struct DeviceConnectivity {
    private(set) var transition: LifecycleTransition?
    private(set) var presence: Presence?

    /// Whether the broker has neither a state nor a presence of the device any more.
    var isDeleted: Bool { transition == nil && presence == nil }

    /// Whether the device is connected, as far as is known.
    var isConnected: Bool {
        if let presence { return presence.phase != .lost && presence.phase != .terminated }
        return transition.map { $0.to != .terminated && $0.reason != "connection-lost" } ?? true
    }

    /// Records a state, or its deletion.
    mutating func note(_ transition: LifecycleTransition?) { self.transition = transition }

    /// Records a presence, or its deletion. The last will of an earlier session, which the broker may publish late, is
    /// ignored.
    mutating func note(_ presence: Presence?) {
        if let last = self.presence?.session, let session = presence?.session, session < last { return }
        self.presence = presence
    }
}
