public import LockstepMQTT
public import LockstepWire

/// What a simulated fleet is told to be.
public struct FleetConfiguration: Sendable {
    public var plan: FleetPlan
    /// 1 to the number of devices; devices are spread over them in turn.
    public var connections: Int
    public var broker: BrokerAddress
    public var tls = TLSOptions()
    /// nil: 5, or 3.1.1 with a broker that refuses it.
    public var mqttVersion: MQTTVersion?
    public var root = TopicRoot.standard
    /// Seconds between two signs of life of a connection.
    public var keepAlive = 15
    /// Bytes of backlog a second and device.
    public var backlogRate = 262_144
    /// µs without an acknowledgement after which, at the end, what is missing counts as lost.
    public var patience: Int64 = 60_000_000

    public init(plan: FleetPlan, connections: Int, broker: BrokerAddress) {
        self.plan = plan
        self.connections = connections
        self.broker = broker
    }
}

/// Why a fleet can't run.
public struct FleetError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What happened, and what to do.
    public let description: String
    init(_ description: String) { self.description = description }
}
