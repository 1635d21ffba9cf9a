public import LockstepMQTT
public import LockstepWire

/// The configuration of a ``SparkplugEdge``.
public struct SparkplugEdgeConfiguration: Sendable {
    /// The broker of Lockstep and of the host applications.
    public var broker: BrokerAddress
    /// The certificates for `mqtts://`.
    public var tls = TLSOptions()
    /// The MQTT version, or nil for version 5 with a fallback to 3.1.1.
    public var mqttVersion: MQTTVersion?
    /// The MQTT keep-alive interval in seconds.
    public var keepAlive = 15
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
        self.broker = broker
        self.clientID = clientID
        self.node = node
    }
}
