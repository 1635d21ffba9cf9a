public import LockstepMQTT
public import LockstepModel
public import LockstepSensors
public import LockstepWire

/// The configuration of an agent.
public struct AgentConfiguration: Sendable {
    /// The program whose acknowledgement removes a batch from the outbox.
    public enum AcknowledgedBy: String, Sendable, CaseIterable {
        /// The collector, after its commit: no sample is lost.
        case collector
        /// The broker: for a system without a collector.
        case broker
    }

    /// The group and the id of the device.
    public var address: DeviceAddress
    /// The broker to publish to.
    public var broker: BrokerAddress
    /// The certificates for `mqtts://`.
    public var tls = TLSOptions()
    /// The MQTT version, or nil for version 5 with a fallback to 3.1.1.
    public var mqttVersion: MQTTVersion?
    /// The MQTT keep-alive interval in seconds, 5 to 65,535.
    public var keepAlive = 15
    /// The prefix of all topics.
    public var root = TopicRoot.standard
    /// The sources of samples.
    public var sources: [any SensorSource]
    /// The rates at which streams are published.
    public var rates = PublishingRates()
    /// The options of derived streams.
    public var derived = DerivedOptions()
    /// The path of the outbox file.
    public var outboxPath: String
    /// The limits above which the outbox drops its oldest batches.
    public var outboxLimits = Outbox.Limits()
    /// Whether the outbox keeps every accepted batch in its journal.
    public var keepsJournal = false
    /// The encoding of new batches. Batches in the outbox keep theirs.
    public var encoding = BatchEncoding.json
    /// The limits of windows and batches.
    public var coalescing = Coalescer.Limits()
    /// The program whose acknowledgement removes a batch from the outbox.
    public var acknowledgedBy = AcknowledgedBy.collector
    /// The maximum rate of backlog in bytes a second, in addition to live data.
    public var backlogRate = 262_144
    /// The interval between presence messages while nothing changes, in µs.
    public var heartbeat: Int64 = 30_000_000
    /// Whether the agent compares its clock with those of the collectors.
    public var comparesClock = true

    /// Creates a configuration with default values.
    public init(
        address: DeviceAddress, broker: BrokerAddress, sources: [any SensorSource], outboxPath: String
    ) {
        self.address = address
        self.broker = broker
        self.sources = sources
        self.outboxPath = outboxPath
    }
}
