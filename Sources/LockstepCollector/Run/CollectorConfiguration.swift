public import LockstepMQTT
public import LockstepModel
public import LockstepWire

/// What a collector is told to be.
public struct CollectorConfiguration: Sendable {
    public var id: CollectorID
    public var broker: BrokerAddress
    public var tls = TLSOptions()
    /// nil: 5, or 3.1.1 with a broker that refuses it.
    public var mqttVersion: MQTTVersion?
    /// Seconds of silence after which the broker is asked whether it is still there, 5 to 65,535.
    public var keepAlive = 15
    public var root = TopicRoot.standard
    /// The groups to collect; empty for all.
    public var groups: [GroupID] = []
    public var limits = PayloadLimits()
    /// How many devices are taken in.
    public var maximumDevices = 100_000
    /// µs that a sample may lie in the future.
    public var maximumFuture: Int64 = 86_400_000_000
    public var timing = LifecycleMachine.Timing()
    var turn = TurnLimits()
    /// How many messages the broker hands over before an acknowledgement (MQTT 5): those of two turns, so that it
    /// has some to send while a turn ends.
    public var receiveMaximum = UInt16(clamping: 2 * TurnLimits().messages)
    /// What the health says of the program; nil where it is to say nothing.
    public var version: String?
    /// µs between two words of health.
    public var healthInterval: Int64 = 10_000_000

    public init(id: CollectorID, broker: BrokerAddress) {
        self.id = id
        self.broker = broker
    }
}
