public import LockstepMQTT
import LockstepModel
import LockstepWire
public import Logging
public import ServiceLifecycle

/// A service that is a host application of Sparkplug B: it hands the values of nodes and devices over to a gateway.
///
/// It has a connection of its own, because the specification demands a last will and a session that is not kept.
public final class SparkplugHost: Service {
    private let configuration: SparkplugHostConfiguration
    private let gateway: Gateway
    private let logger: Logger

    /// Creates a host application. It connects when ``run()`` is called.
    public init(_ configuration: SparkplugHostConfiguration, gateway: Gateway, logger: Logger) {
        self.configuration = configuration
        self.gateway = gateway
        self.logger = logger
    }

    /// Runs until the surrounding task or service group shuts down.
    public func run() async {
        await runBridge(
            SparkplugHostNodes(configuration, gateway: gateway, logger: logger), label: "lockstep.sparkplug-host",
            logger: logger)
    }
}

/// The nodes of a ``SparkplugHost``, and what it hands over to the gateway.
private struct SparkplugHostNodes: Bridge {
    /// The messages that a host application reads.
    private static let types: [SparkplugTopic.MessageType] = [
        .nodeBirth, .nodeData, .nodeDeath, .deviceBirth, .deviceData, .deviceDeath,
    ]

    /// The interval between two checks of the nodes, in µs.
    private static let checkInterval: Int64 = 200_000
    /// The interval at which the devices of all nodes are counted, in µs.
    private static let countInterval: Int64 = 1_000_000

    private let configuration: SparkplugHostConfiguration
    private let gateway: Gateway
    private let logger: Logger
    private let stateTopic: String
    /// The time of the current connection, which its will and its birth message share.
    private var birth = Timestamp(microseconds: 0)
    private var nodes: SparkplugNodes
    private var messages: [TranslatedMessage] = []
    /// The time of the next check of the nodes, in µs of the boot clock.
    private var nextCheck: Int64 = 0
    private var figures = GatewayHealth.Sparkplug()
    /// The time at which devices are counted next, in µs of the boot clock.
    private var nextDeviceCount: Int64 = 0
    /// Whether ``nodes`` contains those that were present before the gateway started.
    private var isRestored = false
    /// Whether another client has said that this host application is offline.
    private var isContradicted = false

    init(_ configuration: SparkplugHostConfiguration, gateway: Gateway, logger: Logger) {
        self.configuration = configuration
        self.gateway = gateway
        self.logger = logger
        stateTopic = SparkplugTopic.state(of: configuration.host)
        nodes = SparkplugNodes(configuration.targets, maxFuture: configuration.maxFuture)
    }

    var connection: BridgeConnection {
        BridgeConnection(
            broker: configuration.broker, clientID: configuration.clientID, target: "Sparkplug", role: "for Sparkplug",
            name: ("host", configuration.host))
    }

    var filters: [String] { [stateTopic] + Self.types.map { SparkplugTopic.filter($0) } }

    var interval: Duration { .milliseconds(nodes.isWaiting ? 200 : 500) }

    mutating func will() -> MQTTMessage {
        birth = Moment.now().wall
        return state(false, at: birth)
    }

    mutating func didConnect(at moment: Moment) -> [MQTTMessage] {
        take(nodes.reset(at: moment))
        return [state(true, at: birth)]
    }

    mutating func takeMessages(isConnected: Bool, at moment: Moment) throws(MQTTError) -> [MQTTMessage] {
        take(nodes.release(at: moment))
        let requests = isConnected ? check(at: moment) : []
        reportFigures(isConnected: isConnected, at: moment.boot)
        guard deliver() else { throw MQTTError(.other, "the outbox cannot be written") }
        return requests
    }

    mutating func farewell() -> MQTTMessage {
        let moment = Moment.now()
        take(nodes.release(at: moment, all: true))
        _ = deliver()
        // Unlike the will, the message of a clean stop has the time of the stop. It is never before that of the birth.
        return state(false, at: max(birth, moment.wall))
    }

    private func state(_ isOnline: Bool, at time: Timestamp) -> MQTTMessage {
        var object = JSONObjectWriter()
        object.member("online", isOnline)
        object.member("timestamp", time.microseconds / 1000)
        return MQTTMessage(topic: stateTopic, payload: object.finish(), isRetained: true)
    }

    private mutating func reportFigures(isConnected: Bool, at boot: Int64) {
        figures.connected = isConnected
        figures.nodes = nodes.count
        figures.unmapped = nodes.unmapped.count
        if boot >= nextDeviceCount {
            nextDeviceCount = boot + Self.countInterval
            figures.devices = nodes.deviceCount
        }
        gateway.report(figures)
    }

    mutating func handle(_ message: IncomingMessage, at moment: Moment) {
        let topic = message.topic
        if topic == stateTopic {
            // The will of an earlier connection, or another program with the same id.
            if let state = try? ForeignJSON.parse(Array(message.payload)), state["online"] == .bool(false) {
                isContradicted = true
            }
            return
        }
        guard let parsed = SparkplugTopic(topic), parsed.node != configuration.ownNode else { return }
        figures.messages += 1
        do throws(Refusal) {
            guard !message.isRetained else {
                throw Refusal(.malformed, "the message is retained, which Sparkplug does not allow")
            }
            guard message.payload.count <= configuration.maxPayload else {
                throw Refusal(
                    .malformed,
                    "the message has \(message.payload.count) bytes, more than \(configuration.maxPayload)")
            }
            take(nodes.handle(parsed, Array(message.payload), at: moment))
        } catch {
            messages.append(TranslatedMessage(.failure(error), from: topic, receivedAt: moment.wall))
        }
    }

    private mutating func take(_ outputs: [SparkplugNodes.Output]) {
        for output in outputs {
            if case .missing(let count) = output.finding {
                figures.missing += count
                logger.warning(
                    "Sparkplug messages missing", metadata: ["before": "\(output.source)", "messages": "\(count)"])
            }
            if case .success(let translation) = output.result, translation.reports.isEmpty { continue }
            messages.append(TranslatedMessage(output.result, from: output.source, receivedAt: output.receivedAt))
        }
    }

    /// Hands the messages of this turn over to the gateway.
    ///
    /// If it cannot store them, the connection is closed. So nodes see that this host application is offline, and keep
    /// their values if they can. Reports of lost devices are kept: no later message repeats them.
    /// - Returns: whether it has stored or refused all of them.
    private mutating func deliver() -> Bool {
        guard !messages.isEmpty else { return true }
        let outcomes = gateway.accept(messages)
        messages = zip(messages, outcomes).compactMap { $1 == .unavailable && $0.reportsLost ? $0 : nil }
        guard outcomes.contains(.unavailable) else { return true }
        nodes.removeValues()
        return false
    }

    /// Reports devices that are lost.
    /// - Returns: requests to nodes, and the state of this host application if another client has changed it.
    private mutating func check(at now: Moment) -> [MQTTMessage] {
        var requests = isContradicted ? [state(true, at: birth)] : []
        isContradicted = false
        guard now.boot >= nextCheck else { return requests }
        nextCheck = now.boot + Self.checkInterval
        if !isRestored, let senders = gateway.earlierSparkplugSenders {
            isRestored = true
            nodes.restore(senders, at: now.boot)
        }
        for node in nodes.takeRebirths(at: now.boot) {
            figures.rebirths += 1
            let time = now.wall.microseconds / 1000
            let payload = SparkplugPayload(time: time, metrics: [.rebirth(true, time: time)])
            requests.append(
                MQTTMessage(
                    topic: SparkplugTopic(.nodeCommand, node).description, payload: payload.encoded(),
                    qos: .atMostOnce))
            logger.info("Sparkplug birth messages requested", metadata: ["node": "\(node)"])
        }
        let lost = nodes.takeLostDevices(at: now.boot)
        for node in nodes.takeUnmapped() {
            logger.warning(
                "Sparkplug node ignored: none of its metrics has a column",
                metadata: [
                    "node": "\(node)", "hint": "name its metrics in the section 'sparkplug' of the settings",
                ])
        }
        if !lost.isEmpty {
            messages.append(
                TranslatedMessage(.success(Translation(lost)), from: SparkplugNodes.formatName, receivedAt: now.wall))
        }
        return requests
    }
}

extension TranslatedMessage {
    fileprivate var reportsLost: Bool {
        guard case .success(let translation) = translation else { return false }
        return translation.reports.contains { $0.presence?.phase == .lost }
    }
}

/// The configuration of a ``SparkplugHost``.
public struct SparkplugHostConfiguration: Sendable {
    /// The broker of the nodes.
    public var broker: BrokerAccess
    /// The client id, which must be unique at the broker.
    public var clientID: String
    /// The id of the host application, under which nodes see whether it is online.
    public var host: String
    /// The columns of the metrics.
    public var targets = SparkplugTargets()
    /// The node that the same program publishes, whose messages are ignored.
    public var ownNode: SparkplugNode?
    /// The maximum size of a message in bytes.
    public var maxPayload = 1 << 20
    /// The maximum time that a value may be in the future, in µs.
    public var maxFuture = SampleFitter().maxFuture

    /// Creates a configuration with default values.
    public init(broker: BrokerAddress, clientID: String, host: String) {
        self.broker = BrokerAccess(broker)
        self.clientID = clientID
        self.host = host
    }
}
