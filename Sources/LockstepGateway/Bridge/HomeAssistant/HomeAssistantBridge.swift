import Dispatch
import LockstepMQTT
import LockstepModel
public import Logging
public import ServiceLifecycle
import Synchronization

/// A service that shows the devices of a broker in Home Assistant, by MQTT discovery.
public final class HomeAssistantBridge: Service {
    private let configuration: HomeAssistantConfiguration
    private let logger: Logger
    private let wakeup = Wakeup()
    private let isStopped = Atomic(false)

    /// Creates a bridge. It connects when ``run()`` is called.
    public init(_ configuration: HomeAssistantConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Runs until the surrounding task or service group shuts down.
    public func run() async {
        await withTaskCancellationOrGracefulShutdownHandler {
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                DispatchQueue(label: "lockstep.home-assistant").async { [self] in
                    let loop = HomeAssistantLoop(configuration, wakeup: wakeup, logger: logger)
                    while !isStopped.load(ordering: .acquiring) { loop.turn() }
                    loop.stop()
                    done.resume()
                }
            }
        } onCancelOrGracefulShutdown: { [self] in
            isStopped.store(true, ordering: .releasing)
            wakeup.signal()
        }
    }
}

/// The loop of a ``HomeAssistantBridge``. One thread owns it.
private final class HomeAssistantLoop {
    private let configuration: HomeAssistantConfiguration
    private let logger: Logger
    private let link: BrokerLink
    private var devices: HomeAssistantDevices

    init(_ configuration: HomeAssistantConfiguration, wakeup: Wakeup, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        devices = HomeAssistantDevices(configuration)
        link = BrokerLink(wakeup: wakeup, version: configuration.mqttVersion) {
            MQTTOptions(
                address: configuration.broker, clientID: configuration.clientID, keepAlive: configuration.keepAlive,
                will: Self.status("offline", configuration), version: $0, tls: configuration.tls)
        }
        link.onMessage = { [unowned self] message in receive(message) }
    }

    private static func status(_ text: String, _ configuration: HomeAssistantConfiguration) -> MQTTMessage {
        MQTTMessage(topic: configuration.bridgeTopic, payload: Array(text.utf8), isRetained: true)
    }

    func turn() {
        link.wait(until: .now + .milliseconds(500))
        for event in link.read(limit: 1000) { handle(event) }
        if link.isUp { publish(devices.takeMessages(at: .now())) }
        for event in link.write() { handle(event) }
    }

    func stop() {
        if link.isUp { publish([Self.status("offline", configuration)]) }
        for event in link.write() { handle(event) }
        link.stop(until: .now + .seconds(1))
    }

    private func publish(_ messages: [MQTTMessage]) {
        for message in messages {
            do { try link.publish(message) } catch {
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

    private func handle(_ event: BrokerLink.Event) {
        switch event {
        case .connected:
            devices.didConnect(at: Moment.now().boot)
            publish([Self.status("online", configuration)])
            do {
                for filter in devices.filters { try link.subscribe(to: filter, qos: .atLeastOnce) }
            } catch { logger.error("cannot subscribe", metadata: ["error": "\(error)"]) }
            logger.info(
                "connected for Home Assistant",
                metadata: ["broker": "\(configuration.broker)", "prefix": "\(configuration.prefix)"])
        case .subscribed(_, let isGranted):
            if !isGranted {
                logger.error(
                    "subscription refused by broker",
                    metadata: ["hint": "give this user the rights of a gateway, see broker-config/production.acl"])
            }
        case .published(_, let refusal):
            if let refusal {
                logger.error("message to Home Assistant refused by broker", metadata: ["error": "\(refusal)"])
            }
        case .failed(let error, _), .disconnected(let error, _):
            logger.warning(
                "no connection for Home Assistant, retrying",
                metadata: ["broker": "\(configuration.broker)", "error": "\(error)"])
        }
    }
}
