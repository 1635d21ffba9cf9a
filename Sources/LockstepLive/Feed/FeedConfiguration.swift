public import LockstepMQTT
public import LockstepModel
public import LockstepWire

/// The configuration of a ``LiveFeed``.
public struct FeedConfiguration: Sendable {
    /// The address of the broker.
    public var broker: BrokerAddress
    /// The TLS files.
    public var tls = TLSOptions()
    /// The file of the certificate of the program's own server, which is watched as well; nil if there is none.
    public var serverCertificateFile: String?
    /// The MQTT version; nil for 5, or 3.1.1 if the broker does not support 5.
    public var mqttVersion: MQTTVersion?
    /// The MQTT keep-alive interval, in s.
    public var keepAlive = 15
    /// The client id, which must be unique at the broker.
    public var clientID: String
    /// The topic prefix; its `streams` are the streams that are known.
    public var root: TopicRoot
    /// The limits of the live picture.
    public var limits = LiveLimits()
    /// The delays between attempts to connect. People watch the live picture, so they are short.
    public var backoff = Backoff(maximum: .seconds(5))

    /// Creates a configuration with default options.
    /// - Parameter clientID: the client id, which must be unique at the broker.
    public init(broker: BrokerAddress, clientID: String, root: TopicRoot = .standard) {
        self.broker = broker
        self.clientID = clientID
        self.root = root
    }

    /// Returns a connection to the broker.
    func link(wakeup: Wakeup, clientID: String) -> BrokerLink {
        BrokerLink(wakeup: wakeup, version: mqttVersion, backoff: backoff) { [self] in
            MQTTOptions(
                address: broker, clientID: clientID, keepAlive: keepAlive, version: $0, tls: tls)
        }
    }
}
