package import LockstepModel
package import LockstepStore

/// Decides when a delivery is tried again.
package enum RetrySchedule {
    /// The longest time between two attempts, in µs.
    package static let longest: Int64 = 300_000_000
    /// The age of an event at which its deliveries are given up, in µs.
    package static let lifetime: Int64 = 86_400_000_000

    /// Returns the result of a failed attempt. The waiting time doubles from one second to five minutes.
    /// - Parameter isFinal: whether the receiver will never accept the event.
    package static func failure(
        _ delivery: EventDelivery, _ error: String, isFinal: Bool, at now: Timestamp
    ) -> DeliveryUpdate {
        let attempts = delivery.attempts + 1
        let isDead = isFinal || now - delivery.event.at >= lifetime
        let wait = min(longest, 1_000_000 << min(20, delivery.attempts))
        return DeliveryUpdate(
            of: delivery, state: isDead ? .dead : .pending, attempts: attempts,
            due: isDead ? now : now + Int64(wait),
            error: error)
    }
}
