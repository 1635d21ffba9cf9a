import LockstepMQTT
import LockstepModel
import Logging
import ServiceLifecycle

/// What one bridge makes of the messages of a broker, as a value that does not know the connection.
protocol Bridge: Sendable {
    var connection: BridgeConnection { get }
    var filters: [String] { get }
    /// Begins a connection, and returns its last will.
    mutating func will() -> MQTTMessage
    /// Notes that the connection is up, and returns what to publish first.
    mutating func didConnect(at moment: Moment) -> [MQTTMessage]
    mutating func handle(_ message: IncomingMessage, at moment: Moment) throws
    /// The longest time until the next call of ``takeMessages(isConnected:at:)``.
    var interval: Duration { get }
    /// Returns what to publish now.
    /// - Throws: the reason to close the connection without acknowledging what was received.
    mutating func takeMessages(isConnected: Bool, at moment: Moment) throws(MQTTError) -> [MQTTMessage]
    /// Returns the first device that was left out, and why, once.
    mutating func takeLeftOut() -> (device: DeviceAddress, reason: String)?
    /// Ends the bridge, and returns the message of a clean end, which does not publish the will.
    mutating func farewell() -> MQTTMessage
}

extension Bridge {
    var interval: Duration { .milliseconds(500) }
    mutating func takeLeftOut() -> (device: DeviceAddress, reason: String)? { nil }
}

/// The connection of a bridge to its broker.
struct BridgeConnection {
    var broker: BrokerAccess
    var clientID: String
    /// The other system, for the log.
    var target: String
    /// What the connection is for it, such as `for Home Assistant`.
    var role: String
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
    private let connection: BridgeConnection
    private let wakeup: Wakeup
    private let logger: Logger
    private var bridge: Content

    private lazy var session = BrokerSession(
        BrokerLink(wakeup: wakeup, version: connection.broker.version) { [unowned self] version in
            connection.broker.options(clientID: connection.clientID, version: version, will: bridge.will())
        }, filters: { [unowned self] in bridge.filters }, onMessage: { [unowned self] in receive($0) })

    init(_ bridge: Content, wakeup: Wakeup, logger: Logger) {
        self.bridge = bridge
        connection = bridge.connection
        self.wakeup = wakeup
        self.logger = logger
    }

    func turn() {
        session.next(until: .now + bridge.interval).forEach(handle)
        do {
            publish(try bridge.takeMessages(isConnected: session.link.isUp, at: .now()))
        } catch {
            if session.link.isUp { session.abandon(error).forEach(handle) }
        }
        if let leftOut = bridge.takeLeftOut() {
            logger.info(
                "devices left out \(connection.role)",
                metadata: ["first": "\(leftOut.device)", "reason": "\(leftOut.reason)"])
        }
        // This also sends the PUBACKs of the messages that were received.
        session.send().forEach(handle)
    }

    func stop() {
        let farewell = bridge.farewell()
        if session.link.isUp { publish([farewell]) }
        session.send().forEach(handle)
        session.close()
    }

    private func publish(_ messages: [MQTTMessage]) {
        for message in messages {
            do { try session.link.publish(message) } catch {
                logger.error(
                    "cannot publish to \(connection.target)",
                    metadata: ["topic": "\(message.topic)", "error": "\(error)"])
            }
        }
    }

    private func receive(_ message: IncomingMessage) {
        do { try bridge.handle(message, at: .now()) } catch {
            logger.debug("message unreadable", metadata: ["topic": "\(message.topic)", "error": "\(error)"])
        }
    }

    private func handle(_ event: BrokerSession.Event) {
        switch event {
        case .connected:
            publish(bridge.didConnect(at: .now()))
            logger.info(
                "connected \(connection.role)",
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
                logger.error("message to \(connection.target) refused by broker", metadata: ["error": "\(refusal)"])
            }
        case .ready: break
        case .interrupted(let error, _):
            logger.warning(
                "no connection \(connection.role), retrying",
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
