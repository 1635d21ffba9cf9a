public import LockstepMQTT
public import LockstepModel
public import LockstepSensors
public import LockstepWire

/// What an agent is told to be.
public struct AgentConfiguration: Sendable {
    /// Whose word takes a batch out of the outbox.
    public enum AcknowledgedBy: String, Sendable, CaseIterable {
        /// The collector's, after its commit: nothing is lost.
        case collector
        /// The broker's: for people without a collector.
        case broker
    }

    public var address: DeviceAddress
    public var broker: BrokerAddress
    public var tls = TLSOptions()
    /// nil: 5, or 3.1.1 with a broker that refuses it.
    public var mqttVersion: MQTTVersion?
    /// Seconds of silence after which the broker is asked whether it is still there, 5 to 65,535.
    public var keepAlive = 15
    public var root = TopicRoot.standard
    public var sources: [any SensorSource]
    public var rates = PublishingRates()
    /// What the streams that are worked out here are told.
    public var derived = DerivedOptions()
    public var outboxPath: String
    public var outboxLimits = Outbox.Limits()
    public var keepsJournal = false
    /// How batches are written; what is in the outbox already stays as it is.
    public var encoding = BatchEncoding.json
    public var coalescing = Coalescer.Limits()
    public var acknowledgedBy = AcknowledgedBy.collector
    /// Bytes of backlog a second.
    public var backlogRate = 262_144
    /// µs between presences that say nothing new.
    public var heartbeat: Int64 = 30_000_000

    public init(
        address: DeviceAddress, broker: BrokerAddress, sources: [any SensorSource], outboxPath: String
    ) {
        self.address = address
        self.broker = broker
        self.sources = sources
        self.outboxPath = outboxPath
    }
}
