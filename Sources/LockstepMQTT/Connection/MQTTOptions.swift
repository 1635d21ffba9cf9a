/// What a connection is made with.
public struct MQTTOptions: Sendable {
    public var address: BrokerAddress
    public var clientID: String
    /// Whether the broker keeps subscriptions and unacknowledged messages while the client is away.
    public var keepsSession: Bool
    /// Seconds of silence after which the client pings, and one and a half times after which the broker gives it up.
    public var keepAlive: Int
    public var will: MQTTMessage?
    public var version: MQTTVersion
    /// How many unacknowledged messages of QoS 1 the client takes at once (MQTT 5; an older broker has its own limit).
    public var receiveMaximum: UInt16
    public var tls: TLSOptions

    public init(
        address: BrokerAddress, clientID: String, keepsSession: Bool = false, keepAlive: Int = 15,
        will: MQTTMessage? = nil, version: MQTTVersion = .five, receiveMaximum: UInt16 = 1000,
        tls: TLSOptions = TLSOptions()
    ) {
        self.address = address
        self.clientID = clientID
        self.keepsSession = keepsSession
        self.keepAlive = keepAlive
        self.will = will
        self.version = version
        self.receiveMaximum = receiveMaximum
        self.tls = tls
    }
}

/// The version of the protocol that a connection speaks.
public enum MQTTVersion: String, Sendable, CaseIterable {
    case five = "5"
    case three = "3.1.1"
}

/// Paths of PEM files for `mqtts://`.
public struct TLSOptions: Hashable, Sendable {
    /// Certificates of the authorities to trust; nil for those of the operating system.
    public var authorityFile: String?
    public var certificateFile: String?
    public var keyFile: String?

    public init(authorityFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil) {
        self.authorityFile = authorityFile
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}

/// Whether a broker hands a message over at most once (0) or at least once (1).
///
/// There is no 2: with libmosquitto's client it loses messages when a process is killed.
public enum QualityOfService: Int32, Sendable {
    case atMostOnce = 0
    case atLeastOnce = 1
}

/// A message to publish.
public struct MQTTMessage: Sendable {
    public var topic: String
    public var payload: [UInt8]
    public var qos: QualityOfService
    public var isRetained: Bool
    /// What the payload is, such as `application/json`; told by MQTT 5 alone.
    public var contentType: String?

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
