package import LockstepModel
package import LockstepStore

/// Decides when a delivery is tried again.
package enum RetrySchedule {
    /// The longest time between two attempts, in µs.
    package static let longest: Int64 = 300_000_000
    /// The longest time that a server can ask for with `Retry-After`, in µs.
    package static let longestPause: Int64 = 3_600_000_000
    /// The age of an event at which its deliveries are given up, in µs.
    package static let lifetime: Int64 = 86_400_000_000

    /// Returns the result of a failed attempt. The waiting time doubles from one second to five minutes.
    /// - Parameters:
    ///   - isFinal: whether the receiver will never accept the event.
    ///   - pause: the time that the receiver has asked for, in µs.
    package static func failure(
        _ delivery: EventDelivery, _ error: String, isFinal: Bool, pause: Int64 = 0, at now: Timestamp
    ) -> DeliveryUpdate {
        let attempts = delivery.attempts + 1
        let isDead = isFinal || now - delivery.event.at >= lifetime
        let wait = max(min(longest, 1_000_000 << min(20, Int64(delivery.attempts))), min(longestPause, pause))
        return DeliveryUpdate(
            of: delivery, state: isDead ? .dead : .pending, attempts: attempts,
            due: isDead ? now : now + wait,
            error: error)
    }
}
