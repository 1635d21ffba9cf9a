import LockstepMQTT

/// Recognises a NATS server by what it does with subscriptions, without I/O.
///
/// NATS servers refuse subscriptions to their own subjects `$MQTT.sub.>`, whatever the rights of the user. Other brokers
/// treat this topic as any other: they refuse it only if the user may not read unknown topics, which a second topic shows.
/// NATS also does not know MQTT 5, unlike the usual other brokers.
struct NATSDetector {
    /// The topic filter that NATS servers refuse.
    static let filter = "$MQTT/sub/lockstep"
    /// A topic filter that is refused only to a user without the right to read it.
    static let rightsFilter = "$LOCKSTEP/probe"

    /// What the answers show.
    enum Result: Equatable {
        /// The broker is a NATS server.
        case nats
        /// The broker may be a NATS server: the user has no right to read ``rightsFilter``.
        case unclear
        case other
    }

    private var version = MQTTVersion.five
    private var control: Int32?
    private var rights: Int32?
    private var probe: Int32?
    private var isControlGranted = false
    private var hasRights = false

    /// A connection was established, and three subscriptions were requested in this order.
    /// - Parameters:
    ///   - control: the subscription to a topic that every member may read.
    ///   - rights: the subscription to ``rightsFilter``.
    ///   - probe: the subscription to ``filter``.
    mutating func connected(_ version: MQTTVersion, control: Int32?, rights: Int32?, probe: Int32?) {
        self.version = version
        (self.control, self.rights, self.probe) = (control, rights, probe)
        (isControlGranted, hasRights) = (false, false)
    }

    /// Returns whether a subscription is one of the two that only serve to recognise the broker.
    func isProbe(_ id: Int32) -> Bool { id == rights || id == probe }

    /// A subscription was granted or refused.
    /// - Returns: the result if it was the last one, or nil.
    mutating func subscribed(_ id: Int32, isGranted: Bool) -> Result? {
        if id == control { isControlGranted = isGranted }
        if id == rights { hasRights = isGranted }
        guard id == probe else { return nil }
        guard !isGranted, isControlGranted, version == .three else { return .other }
        return hasRights ? .nats : .unclear
    }
}
