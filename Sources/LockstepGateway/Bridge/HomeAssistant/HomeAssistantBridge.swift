public import LockstepMQTT
import LockstepModel
public import LockstepWire
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
            HomeAssistantDevices(configuration), label: "lockstep.home-assistant", logger: logger)
    }
}

extension HomeAssistantDevices: Bridge {
    var connection: BridgeConnection {
        BridgeConnection(
            broker: configuration.broker, clientID: configuration.clientID, target: "Home Assistant",
            role: "for Home Assistant", name: ("prefix", configuration.prefix))
    }

    func farewell() -> MQTTMessage { status("offline") }

    func will() -> MQTTMessage { status("offline") }

    mutating func didConnect(at moment: Moment) -> [MQTTMessage] {
        didConnect(at: moment.boot)
        return [status("online")]
    }

    mutating func handle(_ message: IncomingMessage, at moment: Moment) throws {
        try handle(
            topic: message.topic, payload: message.payload, contentType: message.contentType, at: moment)
    }

    mutating func takeMessages(isConnected: Bool, at moment: Moment) -> [MQTTMessage] {
        isConnected ? takeMessages(at: moment) : []
    }

    private func status(_ text: String) -> MQTTMessage {
        MQTTMessage(topic: configuration.bridgeTopic, payload: Array(text.utf8), isRetained: true)
    }
}

/// The configuration of a ``HomeAssistantBridge``.
public struct HomeAssistantConfiguration: Sendable {
    /// The broker of Lockstep and of Home Assistant.
    public var broker: BrokerAccess
    /// The client id, which must be unique at the broker.
    public var clientID: String
    /// The prefix of Lockstep's topics.
    public var root = TopicRoot.standard
    /// The discovery prefix of Home Assistant.
    public var prefix = "homeassistant"
    /// The topic below which the states of the devices are published.
    public var topic = "lockstep-ha"
    /// The minimum interval between two states of a device, in µs. A change of its life cycle does not wait.
    public var interval: Int64 = 5_000_000
    /// The maximum number of devices; further ones are ignored.
    public var maxDevices = 10_000
    /// The delay from the subscription to the removal of devices that were deleted meanwhile, in µs. All retained
    /// messages must arrive within it.
    public var removalDelay: Int64 = 10_000_000
    /// The version of the program, which Home Assistant shows.
    public var version: String?

    /// Creates a configuration with default values.
    /// - Parameter clientID: the client id, which must be unique at the broker.
    public init(broker: BrokerAddress, clientID: String) {
        self.broker = BrokerAccess(broker)
        self.clientID = clientID
    }

    /// The streams whose columns have entities.
    var measuredStreams: [SensorStream] { [.pressure, .activity] + root.streams.declared }
    /// The topic that shows whether the bridge is connected.
    var bridgeTopic: String { topic + "/bridge" }
    /// The topic of the birth message of Home Assistant.
    var statusTopic: String { prefix + "/status" }
    var discoveryFilter: String { prefix + "/device/+/config" }
}
