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
    private var probe: Int32?
    /// Whether the user may subscribe to what a member needs. Without this right, a refusal means nothing.
    private var hasRights = true

    /// A connection was established, and the subscriptions of a member were requested, at last that to ``filter``.
    mutating func connected(_ version: MQTTVersion, probe: Int32?) {
        self.version = version
        self.probe = probe
        hasRights = true
    }

    /// A subscription was granted or refused.
    /// - Returns: whether it was that to ``filter``.
    mutating func subscribed(_ id: Int32, isGranted: Bool) -> Bool {
        guard id == probe else {
            hasRights = hasRights && isGranted
            return false
        }
        isNATS = !isGranted && hasRights && version == .three
        return true
    }
}
