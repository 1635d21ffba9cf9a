/// The options of a connection.
public struct MQTTOptions: Sendable {
    /// The address of the broker. A connection uses only the first of several nodes; ``BrokerLink`` chooses one.
    public var address: BrokerAddress
    /// The client id, which must be unique at the broker.
    public var clientID: String
    /// Whether the broker keeps subscriptions and unacknowledged messages while the client is disconnected.
    public var keepsSession: Bool
    /// The keep-alive interval in s: the client pings after this time without traffic, and the broker closes the
    /// connection after 1.5 times this time.
    public var keepAlive: Int
    /// The last will, which the broker publishes if the connection is lost.
    public var will: MQTTMessage?
    /// The version of MQTT.
    public var version: MQTTVersion
    /// The maximum number of unacknowledged messages with QoS 1 that the broker may send. It requires MQTT 5; with MQTT
    /// 3.1.1, the broker uses its own limit.
    public var receiveMaximum: UInt16
    /// The TLS files.
    public var tls: TLSOptions
    /// The time in s after which the connection is lost if the broker's host acknowledges nothing that the system has sent.
    /// A broker that is slow does not count, unless it reads nothing for this time and the buffers of both sides are full.
    /// Nil to rely on the keep-alive.
    public var peerTimeout: Int?

    /// Creates options.
    ///
    /// The ``BrokerAddress/clientIDSecret`` of `address` is appended to `clientID`.
    public init(
        address: BrokerAddress, clientID: String, keepsSession: Bool = false, keepAlive: Int = 15,
        will: MQTTMessage? = nil, version: MQTTVersion = .five, receiveMaximum: UInt16 = 1000,
        tls: TLSOptions = TLSOptions(), peerTimeout: Int? = nil
    ) {
        self.address = address
        self.clientID = address.clientIDSecret.map { clientID + "-" + $0 } ?? clientID
        self.keepsSession = keepsSession
        self.keepAlive = keepAlive
        self.will = will
        self.version = version
        self.receiveMaximum = receiveMaximum
        self.tls = tls
        self.peerTimeout = peerTimeout
    }
}

/// A version of the MQTT protocol.
public enum MQTTVersion: String, Sendable, CaseIterable {
    /// MQTT 5.
    case five = "5"
    /// MQTT 3.1.1.
    case three = "3.1.1"
}

/// The paths of the PEM files for `mqtts://`.
public struct TLSOptions: Hashable, Sendable {
    /// The trusted CA certificates; nil for those of the operating system.
    public var authorityFile: String?
    /// The client certificate.
    public var certificateFile: String?
    /// The private key of the client certificate.
    public var keyFile: String?

    /// Creates options.
    public init(authorityFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil) {
        self.authorityFile = authorityFile
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}

/// The quality of service of a message or subscription: at most once (0) or at least once (1).
///
/// QoS 2 is not offered: with libmosquitto, it loses messages if the client is killed.
public enum QualityOfService: Int32, Sendable {
    /// QoS 0: a message may be lost.
    case atMostOnce = 0
    /// QoS 1: a message is delivered, possibly more than once.
    case atLeastOnce = 1
}

/// A message to publish.
public struct MQTTMessage: Sendable {
    /// The topic.
    public var topic: String
    /// The payload.
    public var payload: [UInt8]
    /// The quality of service.
    public var qos: QualityOfService
    /// Whether the broker keeps the message for new subscribers.
    public var isRetained: Bool
    /// The content type of the payload, such as `application/json`. Sent only with MQTT 5.
    public var contentType: String?

    /// Creates a message.
    public init(
        topic: String, payload: [UInt8], qos: QualityOfService = .atLeastOnce, isRetained: Bool = false,
        contentType: String? = nil
    ) {
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.isRetained = isRetained
        self.contentType = contentType
    }
}
