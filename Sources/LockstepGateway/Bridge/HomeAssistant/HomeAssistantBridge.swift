import LockstepMQTT
import LockstepModel
public import Logging
public import ServiceLifecycle

/// A service that shows the devices of a broker in Home Assistant, by MQTT discovery.
public final class HomeAssistantBridge: Service {
    private let configuration: HomeAssistantConfiguration
    private let logger: Logger
    private let thread = LoopThread("lockstep.home-assistant")

    /// Creates a bridge. It connects when ``run()`` is called.
    public init(_ configuration: HomeAssistantConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Runs until the surrounding task or service group shuts down.
    public func run() async {
        await withTaskCancellationOrGracefulShutdownHandler {
            await thread.run { [self] in
                let loop = HomeAssistantLoop(configuration, wakeup: thread.wakeup, logger: logger)
                while !thread.isStopping { loop.turn() }
                loop.stop()
            }
        } onCancelOrGracefulShutdown: { [thread] in
            thread.stop()
        }
    }
}

/// The loop of a ``HomeAssistantBridge``. One thread owns it.
private final class HomeAssistantLoop {
    private let configuration: HomeAssistantConfiguration
    private let logger: Logger
    private let session: BrokerSession
    private var devices: HomeAssistantDevices

    init(_ configuration: HomeAssistantConfiguration, wakeup: Wakeup, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        devices = HomeAssistantDevices(configuration)
        let link = BrokerLink(wakeup: wakeup, version: configuration.mqttVersion) {
            MQTTOptions(
                address: configuration.broker, clientID: configuration.clientID, keepAlive: configuration.keepAlive,
                will: Self.status("offline", configuration), version: $0, tls: configuration.tls)
        }
        let filters = devices.filters
        session = BrokerSession(link, filters: { filters })
        link.onMessage = { [unowned self] message in receive(message) }
    }

    private static func status(_ text: String, _ configuration: HomeAssistantConfiguration) -> MQTTMessage {
        MQTTMessage(topic: configuration.bridgeTopic, payload: Array(text.utf8), isRetained: true)
    }

    func turn() {
        for event in session.next(until: .now + .milliseconds(500)) { handle(event) }
        if session.link.isUp { publish(devices.takeMessages(at: .now())) }
        for event in session.send() { handle(event) }
    }

    func stop() {
        if session.link.isUp { publish([Self.status("offline", configuration)]) }
        for event in session.send() { handle(event) }
        session.close()
    }

    private func publish(_ messages: [MQTTMessage]) {
        for message in messages {
            do { try session.link.publish(message) } catch {
                logger.error(
                    "cannot publish to Home Assistant",
                    metadata: ["topic": "\(message.topic)", "error": "\(error)"])
            }
        }
    }

    private func receive(_ message: IncomingMessage) {
        do {
            try devices.handle(
                topic: message.topic, payload: message.payload, contentType: message.contentType,
                at: Moment.now())
        } catch {
            logger.debug("message unreadable", metadata: ["topic": "\(message.topic)", "error": "\(error)"])
        }
    }

    private func handle(_ event: BrokerSession.Event) {
        switch event {
        case .connected:
            devices.didConnect(at: Moment.now().boot)
            publish([Self.status("online", configuration)])
            logger.info(
                "connected for Home Assistant",
                metadata: ["broker": "\(configuration.broker)", "prefix": "\(configuration.prefix)"])
        case .denied(_, let error):
            logger.error(
                "subscription refused by broker",
                metadata: [
                    "error": "\(error)",
                    "hint": "give this user the rights of a gateway, see broker-config/production.acl",
                ])
        case .published(_, let refusal):
            if let refusal {
                logger.error("message to Home Assistant refused by broker", metadata: ["error": "\(refusal)"])
            }
        case .ready: break
        case .interrupted(let error, _):
            logger.warning(
                "no connection for Home Assistant, retrying",
                metadata: ["broker": "\(configuration.broker)", "error": "\(error)"])
        }
    }
}
