public import LockstepModel

/// A broker, and how a program connects to it.
public struct BrokerAccess: Sendable, CustomStringConvertible {
    /// The address, with the credentials of the user.
    public var address: BrokerAddress
    /// The certificates for `mqtts://`.
    public var tls = TLSOptions()
    /// The MQTT version, or nil for version 5 with a fallback to 3.1.1 if the broker refuses it.
    public var version: MQTTVersion?
    /// The MQTT keep-alive interval in seconds, 5 to 65,535.
    public var keepAlive = 15

    /// Creates the default access to a broker.
    public init(_ address: BrokerAddress) { self.address = address }

    /// The address, without credentials.
    public var description: String { "\(address)" }

    /// Returns the options of a connection.
    public func options(
        clientID: String, version: MQTTVersion, keepsSession: Bool = false, will: MQTTMessage? = nil
    ) -> MQTTOptions {
        MQTTOptions(
            address: address, clientID: clientID, keepsSession: keepsSession, keepAlive: keepAlive, will: will,
            version: version, tls: tls)
    }

    /// Creates a link for one purpose, without a last will. It does not connect yet.
    public func link(clientID: String, wakeup: Wakeup, node: NodeChoice? = nil) -> BrokerLink {
        BrokerLink(wakeup: wakeup, version: version, node: node) { options(clientID: clientID, version: $0) }
    }
}
