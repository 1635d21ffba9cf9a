import LockstepMQTT

/// Recognises a NATS server by what it does with a subscription, without I/O.
///
/// NATS servers refuse subscriptions to their own subjects `$MQTT.sub.>`, whatever the rights of the user. Other brokers
/// treat this topic as any other. NATS also does not know MQTT 5, unlike the usual other brokers.
struct NATSDetector {
    /// The topic filter that NATS servers refuse.
    static let filter = "$MQTT/sub/lockstep"

    private(set) var isNATS = false
    private var version = MQTTVersion.five
    private var control: Int32?
    private var probe: Int32?
    /// Whether the user may subscribe to a topic of members. Without this right, a refusal means nothing.
    private var hasRights = false

    /// A connection was established, and two subscriptions were requested.
    /// - Parameters:
    ///   - control: the subscription to a topic that every member may read.
    ///   - probe: the later one to ``filter``.
    mutating func connected(_ version: MQTTVersion, control: Int32?, probe: Int32?) {
        self.version = version
        self.control = control
        self.probe = probe
        hasRights = false
    }

    /// A subscription was granted or refused.
    /// - Returns: whether it was that to ``filter``.
    mutating func subscribed(_ id: Int32, isGranted: Bool) -> Bool {
        if id == control { hasRights = isGranted }
        guard id == probe else { return false }
        isNATS = !isGranted && hasRights && version == .three
        return true
    }
}
