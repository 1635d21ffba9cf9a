public import LockstepMQTT
import LockstepModel
public import LockstepWire
public import Logging
public import ServiceLifecycle

/// A service that publishes the devices of a broker as devices of one edge node of Sparkplug B.
public final class SparkplugEdge: Service {
    private let configuration: SparkplugEdgeConfiguration
    private let logger: Logger

    /// Creates an edge node. It connects when ``run()`` is called.
    public init(_ configuration: SparkplugEdgeConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Runs until the surrounding task or service group shuts down.
    public func run() async {
        // The time gives a program that starts again another number than it had before, without a file.
        let devices = SparkplugEdgeDevices(
            configuration, deathNumber: Moment.now().wall.microseconds / 1_000_000)
        await runBridge(
            devices, label: "lockstep.sparkplug-edge", logger: logger)
    }
}

extension SparkplugEdgeDevices: Bridge {
    var connection: BridgeConnection {
        BridgeConnection(
            broker: configuration.broker, clientID: configuration.clientID, target: "Sparkplug",
            role: "as Sparkplug edge node", name: ("node", "\(configuration.node)"))
    }

    func farewell() -> MQTTMessage { Self.message(death, qos: .atLeastOnce) }

    mutating func will() -> MQTTMessage { Self.message(startSession(), qos: .atLeastOnce) }

    mutating func didConnect(at moment: Moment) -> [MQTTMessage] {
        bear(at: moment.wall)
        return []
    }

    mutating func handle(_ message: IncomingMessage, at moment: Moment) throws {
        try handle(
            topic: message.topic, payload: message.payload, contentType: message.contentType, at: moment.wall)
    }

    mutating func takeMessages(isConnected: Bool, at moment: Moment) -> [MQTTMessage] {
        let messages = takeMessages(at: moment.wall)
        return isConnected ? messages.map { Self.message($0) } : []
    }

    private static func message(
        _ message: SparkplugEdgeDevices.Message, qos: QualityOfService = .atMostOnce
    ) -> MQTTMessage {
        MQTTMessage(topic: message.topic.description, payload: message.payload, qos: qos)
    }
}

/// The configuration of a ``SparkplugEdge``.
public struct SparkplugEdgeConfiguration: Sendable {
    /// The broker of Lockstep and of the host applications.
    public var broker: BrokerAccess
    /// The client id, which must be unique at the broker.
    public var clientID: String
    /// The prefix of Lockstep's topics, and the streams.
    public var root = TopicRoot.standard
    /// The name of the node.
    public var node: SparkplugNode
    /// The maximum number of devices; further ones are ignored.
    public var maxDevices = 10_000
    /// The version of the program, which the node shows.
    public var version: String?

    /// Creates a configuration with default values.
    /// - Parameter clientID: the client id, which must be unique at the broker.
    public init(broker: BrokerAddress, clientID: String, node: SparkplugNode) {
        self.broker = BrokerAccess(broker)
        self.clientID = clientID
        self.node = node
    }
}
