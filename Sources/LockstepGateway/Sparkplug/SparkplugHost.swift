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
    private let thread = LoopThread("lockstep.sparkplug-host")

    /// Creates a host application. It connects when ``run()`` is called.
    public init(_ configuration: SparkplugHostConfiguration, gateway: Gateway, logger: Logger) {
        self.configuration = configuration
        self.gateway = gateway
        self.logger = logger
    }

    /// Runs until the surrounding task or service group shuts down.
    public func run() async {
        await withTaskCancellationOrGracefulShutdownHandler {
            await thread.run { [self] in
                let loop = SparkplugHostLoop(configuration, gateway: gateway, wakeup: thread.wakeup, logger: logger)
                while !thread.isStopping { loop.turn() }
                loop.stop()
            }
        } onCancelOrGracefulShutdown: { [thread] in
            thread.stop()
        }
    }
}

/// The loop of a ``SparkplugHost``. One thread owns it.
private final class SparkplugHostLoop {
    /// The messages that a host application reads.
    private static let types: [SparkplugTopic.MessageType] = [
        .nodeBirth, .nodeData, .nodeDeath, .deviceBirth, .deviceData, .deviceDeath,
    ]

    /// The interval between two checks of the nodes, in µs.
    private static let checkInterval: Int64 = 200_000
    /// The interval at which the devices of all nodes are counted, in µs.
    private static let countInterval: Int64 = 1_000_000

    /// The time of the current connection, which its will and its birth message share.
    private final class Birth {
        var start = Timestamp(microseconds: 0)
    }

    private let configuration: SparkplugHostConfiguration
    private let gateway: Gateway
    private let logger: Logger
    private let session: BrokerSession
    private let birth: Birth
    private let stateTopic: String
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

    init(_ configuration: SparkplugHostConfiguration, gateway: Gateway, wakeup: Wakeup, logger: Logger) {
        self.configuration = configuration
        self.gateway = gateway
        self.logger = logger
        let birth = Birth()
        self.birth = birth
        stateTopic = SparkplugTopic.state(of: configuration.host)
        nodes = SparkplugNodes(configuration.targets, maxFuture: configuration.maxFuture)
        let link = BrokerLink(wakeup: wakeup, version: configuration.broker.version) { version in
            birth.start = Moment.now().wall
            return configuration.broker.options(
                clientID: configuration.clientID, version: version,
                will: Self.state(false, configuration, at: birth.start))
        }
        let filters = [stateTopic] + Self.types.map { SparkplugTopic.filter($0) }
        session = BrokerSession(link, filters: { filters })
        link.onMessage = { [unowned self] message in receive(message) }
    }

    private static func state(
        _ isOnline: Bool, _ configuration: SparkplugHostConfiguration, at time: Timestamp
    ) -> MQTTMessage {
        var object = JSONObjectWriter()
        object.member("online", isOnline)
        object.member("timestamp", time.microseconds / 1000)
        return MQTTMessage(
            topic: SparkplugTopic.state(of: configuration.host), payload: object.finish(), isRetained: true)
    }

    func turn() {
        for event in session.next(until: .now + .milliseconds(nodes.isWaiting ? 200 : 500)) { handle(event) }
        take(nodes.release(at: Moment.now()))
        if session.link.isUp { check() }
        reportFigures()
        deliver()
        // This also sends the PUBACKs of the messages that the gateway has on disk.
        for event in session.send() { handle(event) }
    }

    private func reportFigures() {
        figures.connected = session.link.isUp
        figures.nodes = nodes.count
        figures.unmapped = nodes.unmapped.count
        let boot = Moment.now().boot
        if boot >= nextDeviceCount {
            nextDeviceCount = boot + Self.countInterval
            figures.devices = nodes.deviceCount
        }
        gateway.report(figures)
    }

    func stop() {
        take(nodes.release(at: Moment.now(), all: true))
        deliver()
        // Unlike the will, the message of a clean stop has the time of the stop. It is never before that of the birth.
        publish(Self.state(false, configuration, at: max(birth.start, Moment.now().wall)))
        for event in session.send() { handle(event) }
        session.close()
    }

    private func receive(_ message: IncomingMessage) {
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
        let moment = Moment.now()
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

    private func take(_ outputs: [SparkplugNodes.Output]) {
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
    private func deliver() {
        guard !messages.isEmpty else { return }
        let outcomes = gateway.accept(messages)
        messages = zip(messages, outcomes).compactMap { $1 == .unavailable && $0.reportsLost ? $0 : nil }
        guard outcomes.contains(.unavailable) else { return }
        nodes.removeValues()
        if session.link.isUp {
            session.abandon(MQTTError(.other, "the outbox cannot be written")).forEach(handle)
        }
    }

    /// Publishes requests, and reports devices that are lost.
    private func check() {
        if isContradicted {
            isContradicted = false
            publish(Self.state(true, configuration, at: birth.start))
        }
        let now = Moment.now()
        guard now.boot >= nextCheck else { return }
        nextCheck = now.boot + Self.checkInterval
        if !isRestored, let senders = gateway.earlierSparkplugSenders {
            isRestored = true
            nodes.restore(senders, at: now.boot)
        }
        for node in nodes.takeRebirths(at: now.boot) {
            figures.rebirths += 1
            let time = now.wall.microseconds / 1000
            let payload = SparkplugPayload(time: time, metrics: [.rebirth(true, time: time)])
            publish(
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
        guard !lost.isEmpty else { return }
        messages.append(
            TranslatedMessage(.success(Translation(lost)), from: SparkplugNodes.formatName, receivedAt: now.wall))
    }

    private func publish(_ message: MQTTMessage) {
        do { try session.link.publish(message) } catch {
            logger.error(
                "cannot publish to Sparkplug", metadata: ["topic": "\(message.topic)", "error": "\(error)"])
        }
    }

    private func handle(_ event: BrokerSession.Event) {
        switch event {
        case .connected:
            publish(Self.state(true, configuration, at: birth.start))
            take(nodes.reset(at: Moment.now()))
            logger.info(
                "connected for Sparkplug",
                metadata: ["broker": "\(configuration.broker)", "host": "\(configuration.host)"])
        case .denied(_, let error):
            logger.error(
                "subscription refused by broker",
                metadata: [
                    "error": "\(error)",
                    "hint": "give this user the rights of a gateway, see broker-config/production.acl",
                ])
        case .published(_, let refusal):
            if let refusal { logger.error("message refused by broker", metadata: ["error": "\(refusal)"]) }
        case .ready: break
        case .interrupted(let error, _):
            logger.warning(
                "no connection for Sparkplug, retrying",
                metadata: ["broker": "\(configuration.broker)", "error": "\(error)"])
        }
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
