import LockstepMQTT
import LockstepModel
public import Logging
public import ServiceLifecycle

/// A service that publishes the devices of a broker as devices of one edge node of Sparkplug B.
public final class SparkplugEdge: Service {
    private let configuration: SparkplugEdgeConfiguration
    private let logger: Logger
    private let thread = LoopThread("lockstep.sparkplug-edge")

    /// Creates an edge node. It connects when ``run()`` is called.
    public init(_ configuration: SparkplugEdgeConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Runs until the surrounding task or service group shuts down.
    public func run() async {
        await withTaskCancellationOrGracefulShutdownHandler {
            await thread.run { [self] in
                let loop = SparkplugEdgeLoop(configuration, wakeup: thread.wakeup, logger: logger)
                while !thread.isStopping { loop.turn() }
                loop.stop()
            }
        } onCancelOrGracefulShutdown: { [thread] in
            thread.stop()
        }
    }
}

/// The loop of a ``SparkplugEdge``. One thread owns it.
private final class SparkplugEdgeLoop {
    /// The devices, which also the options of a connection need.
    private final class State {
        var devices: SparkplugEdgeDevices
        init(_ devices: SparkplugEdgeDevices) { self.devices = devices }
    }

    private let configuration: SparkplugEdgeConfiguration
    private let logger: Logger
    private let session: BrokerSession
    private let state: State

    init(_ configuration: SparkplugEdgeConfiguration, wakeup: Wakeup, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        // The time gives a program that starts again another number than it had before, without a file.
        let start = Moment.now().wall.microseconds / 1_000_000
        let state = State(SparkplugEdgeDevices(configuration, deathNumber: start))
        self.state = state
        let link = BrokerLink(wakeup: wakeup, version: configuration.mqttVersion) {
            MQTTOptions(
                address: configuration.broker, clientID: configuration.clientID, keepAlive: configuration.keepAlive,
                will: Self.message(state.devices.startSession(), qos: .atLeastOnce), version: $0,
                tls: configuration.tls)
        }
        let filters = state.devices.filters
        session = BrokerSession(link, filters: { filters })
        link.onMessage = { [unowned self] message in receive(message) }
    }

    private static func message(
        _ message: SparkplugEdgeDevices.Message, qos: QualityOfService = .atMostOnce
    ) -> MQTTMessage {
        MQTTMessage(topic: message.topic.description, payload: message.payload, qos: qos)
    }

    func turn() {
        for event in session.next(until: .now + .milliseconds(500)) { handle(event) }
        let messages = state.devices.takeMessages(at: Moment.now().wall)
        if session.link.isUp { publish(messages.map { Self.message($0) }) }
        for event in session.send() { handle(event) }
    }

    func stop() {
        // A clean end of the connection does not publish the will.
        if session.link.isUp { publish([Self.message(state.devices.death, qos: .atLeastOnce)]) }
        for event in session.send() { handle(event) }
        session.close()
    }

    private func publish(_ messages: [MQTTMessage]) {
        for message in messages {
            do { try session.link.publish(message) } catch {
                logger.error(
                    "cannot publish to Sparkplug", metadata: ["topic": "\(message.topic)", "error": "\(error)"])
            }
        }
    }

    private func receive(_ message: IncomingMessage) {
        do {
            try state.devices.handle(
                topic: message.topic, payload: message.payload, contentType: message.contentType,
                at: Moment.now().wall)
        } catch {
            logger.debug("message unreadable", metadata: ["topic": "\(message.topic)", "error": "\(error)"])
        }
    }

    private func handle(_ event: BrokerSession.Event) {
        switch event {
        case .connected:
            state.devices.bear(at: Moment.now().wall)
            logger.info(
                "connected as Sparkplug edge node",
                metadata: ["broker": "\(configuration.broker)", "node": "\(configuration.node)"])
        case .denied(_, let error):
            logger.error(
                "subscription refused by broker",
                metadata: [
                    "error": "\(error)",
                    "hint": "give this user the rights of a gateway, see broker-config/production.acl",
                ])
        case .published(_, let refusal):
            if let refusal { logger.error("message to Sparkplug refused by broker", metadata: ["error": "\(refusal)"]) }
        case .ready: break
        case .interrupted(let error, _):
            logger.warning(
                "no connection as Sparkplug edge node, retrying",
                metadata: ["broker": "\(configuration.broker)", "error": "\(error)"])
        }
    }
}
