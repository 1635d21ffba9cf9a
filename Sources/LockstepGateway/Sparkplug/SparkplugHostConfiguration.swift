public import LockstepMQTT

/// The configuration of a ``SparkplugHost``.
public struct SparkplugHostConfiguration: Sendable {
    /// The broker of the nodes.
    public var broker: BrokerAddress
    /// The certificates for `mqtts://`.
    public var tls = TLSOptions()
    /// The MQTT version, or nil for version 5 with a fallback to 3.1.1.
    public var mqttVersion: MQTTVersion?
    /// The MQTT keep-alive interval in seconds.
    public var keepAlive = 15
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
        self.broker = broker
        self.clientID = clientID
        self.host = host
    }
}
