import LockstepMQTT
import LockstepModel
public import Logging
public import ServiceLifecycle

/// A service that shows the devices of a broker in Home Assistant, by MQTT discovery.
public final class HomeAssistantBridge: Service {
    private let configuration: HomeAssistantConfiguration
    private let logger: Logger

    /// Creates a bridge. It connects when ``run()`` is called.
    public init(_ configuration: HomeAssistantConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Runs until the surrounding task or service group shuts down.
    public func run() async {
        await runBridge(
            HomeAssistantView(configuration), label: "lockstep.home-assistant", logger: logger)
    }
}

/// The devices as Home Assistant shows them.
private struct HomeAssistantView: Bridge {
    static let (target, role) = ("Home Assistant", "for Home Assistant")

    private let configuration: HomeAssistantConfiguration
    private var devices: HomeAssistantDevices

    init(_ configuration: HomeAssistantConfiguration) {
        self.configuration = configuration
        devices = HomeAssistantDevices(configuration)
    }

    var connection: BridgeConnection {
        BridgeConnection(
            broker: configuration.broker, clientID: configuration.clientID, keepAlive: configuration.keepAlive,
            version: configuration.mqttVersion, tls: configuration.tls, name: ("prefix", configuration.prefix))
    }

    var filters: [String] { devices.filters }
    var farewell: MQTTMessage { status("offline") }

    func will() -> MQTTMessage { status("offline") }

    mutating func didConnect(at moment: Moment) -> [MQTTMessage] {
        devices.didConnect(at: moment.boot)
        return [status("online")]
    }

    mutating func handle(_ message: IncomingMessage, at moment: Moment) throws {
        try devices.handle(
            topic: message.topic, payload: message.payload, contentType: message.contentType, at: moment)
    }

    mutating func takeMessages(isConnected: Bool, at moment: Moment) -> [MQTTMessage] {
        isConnected ? devices.takeMessages(at: moment) : []
    }

    private func status(_ text: String) -> MQTTMessage {
        MQTTMessage(topic: configuration.bridgeTopic, payload: Array(text.utf8), isRetained: true)
    }
}
