public import LockstepMQTT
public import LockstepModel
public import LockstepRules
public import LockstepWire

/// The configuration of a ``Collector``.
public struct CollectorConfiguration: Sendable {
    /// The collector's id. The broker keeps its session under this id, so it must be unique.
    public var id: CollectorID
    /// The address of the broker.
    public var broker: BrokerAddress
    /// The certificates for `mqtts://`.
    public var tls = TLSOptions()
    /// The MQTT version, or nil for version 5 with a fallback to 3.1.1 if the broker refuses it.
    public var mqttVersion: MQTTVersion?
    /// The MQTT keep-alive interval in seconds, 5 to 65,535.
    public var keepAlive = 15
    /// The prefix of all topics.
    public var root = TopicRoot.standard
    /// The groups to collect, or empty for all.
    public var groups: [GroupID] = []
    /// The share of a cluster that the collector owns; nil for all devices of the groups.
    var share: Share?
    /// The limits of a payload. A message that exceeds them is rejected.
    public var limits = PayloadLimits()
    /// The maximum number of devices. Messages of further devices are rejected.
    public var maxDevices = 100_000
    /// The maximum time by which a sample may be ahead of the collector's clock, in µs.
    public var maxFuture: Int64 = 86_400_000_000
    /// The timeouts of the life cycles.
    public var timing = LifecycleMachine.Timing()
    /// Reads the rules, at the start and for each ``Collector/reloadRules()``; nil for no rules.
    public var loadRules: (@Sendable () throws -> RuleSet)?
    /// The folder of the store, for rules on free space.
    public var storeFolder = "."
    /// The limits of a turn.
    var turn = TurnLimits()
    /// The MQTT 5 receive maximum: how many unacknowledged messages the broker may send. The default covers two turns,
    /// so that the broker can keep sending while a turn ends.
    public var receiveMaximum = UInt16(clamping: 2 * TurnLimits().messages)
    /// The program version in the published health, or nil to omit it.
    public var version: String?
    /// The interval at which the collector publishes its health, in µs.
    public var healthInterval: Int64 = 10_000_000
    /// Whether the collector answers the time requests of agents.
    public var answersClock = true
    /// What the collector does if another one with its id is running.
    public var sessionClaim = SessionClaim.ifFree
    /// The node of the broker that the connections of shares use, so that a new one begins with the last good node.
    let node = NodeChoice()

    /// What a collector does if another one with its id is running.
    public enum SessionClaim: Sendable {
        /// It does not start if the other one has another store.
        case ifFree
        /// It starts, and the other one stays disconnected.
        case takeOver
        /// It is a standby: it waits until no other one is active, and then opens the store.
        /// - Parameter storeProblem: returns why the store cannot be taken over, or nil if it exists and may be read.
        case standby(storeProblem: @Sendable () -> String?)
    }

    /// The share of a cluster, and its connections.
    struct Share: Sendable {
        let devices: CollectorShare
        /// The MQTT client id, which also names the session.
        let clientID: String
        /// The MQTT client id of the connection that answers time requests.
        let clockClientID: String
        /// The time in s after which the connection is lost if the broker's host acknowledges nothing.
        let peerTimeout: Int
    }

    /// Which topics and devices belong to the collector.
    var scope: CollectorScope { CollectorScope(root: root, groups: groups, share: share?.devices) }

    /// Creates a configuration with default values.
    public init(id: CollectorID, broker: BrokerAddress) {
        self.id = id
        self.broker = broker
    }

    /// The groups in the health reports; nil for all.
    var reportedGroups: [String]? { groups.isEmpty ? nil : groups.map(\.rawValue) }

    /// The topic of the health reports.
    var healthTopic: String { root.topic(group: groups.first ?? .standard, collector: id) }
}
