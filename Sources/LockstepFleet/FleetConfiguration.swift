public import LockstepMQTT
public import LockstepWire

/// The configuration of a simulated fleet.
public struct FleetConfiguration: Sendable {
    public var plan: FleetPlan
    /// The number of connections, from 1 to the number of devices; devices are assigned to them round-robin.
    public var connections: Int
    public var broker: BrokerAddress
    public var tls = TLSOptions()
    /// The MQTT version; nil for 5, or 3.1.1 if the broker does not support 5.
    public var mqttVersion: MQTTVersion?
    public var root = TopicRoot.standard
    /// The MQTT keep-alive interval, in s.
    public var keepAlive = 15
    /// The rate limit for backlog, in bytes per second and device.
    public var backlogRate = 262_144
    /// The time without an acknowledgement, at the end of the run, after which missing batches count as lost, in µs.
    public var patience: Int64 = 60_000_000

    /// Makes a configuration with default options.
    public init(plan: FleetPlan, connections: Int, broker: BrokerAddress) {
        self.plan = plan
        self.connections = connections
        self.broker = broker
    }
}

/// An error that prevents a fleet from running.
public struct FleetError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The cause, and what to do.
    public let description: String
    init(_ description: String) { self.description = description }
}
