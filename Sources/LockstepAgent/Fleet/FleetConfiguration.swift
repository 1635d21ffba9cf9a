public import LockstepMQTT
public import LockstepWire

/// The configuration of a simulated fleet.
public struct FleetConfiguration: Sendable {
    /// The devices and their batches.
    public var plan: FleetPlan
    /// The number of connections, from 1 to the number of devices; devices are assigned to them round-robin.
    public var connections: Int
    /// The address of the broker.
    public var broker: BrokerAddress
    /// The TLS files.
    public var tls = TLSOptions()
    /// The MQTT version; nil for 5, or 3.1.1 if the broker does not support 5.
    public var mqttVersion: MQTTVersion?
    /// The topic prefix.
    public var root = TopicRoot.standard
    /// The MQTT keep-alive interval, in s.
    public var keepAlive = 15
    /// The rate limit for backlog, in bytes per second and device.
    public var backlogRate = 262_144
    /// The time without an acknowledgement after which missing batches count as lost, at the end of the run, in µs.
    public var patience: Int64 = 60_000_000

    /// Creates a configuration with default options.
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
