import Dispatch
package import LockstepModel
package import LockstepRules
package import LockstepStore
import Synchronization

/// Sends notifications by webhook, ntfy, e-mail and commands, each way on a queue of its own.
///
/// The store keeps what is pending. The notifier reports each attempt, and the owner writes it to the store.
package final class Notifier: Sendable {
    private struct State {
        var ways: [String: Way] = [:]
        /// By target: the recipients of a mail target share its server.
        var queues: [Substring: DispatchQueue] = [:]
        /// The times before which a target has asked for no requests, in µs of the boot clock.
        var pauses: [Substring: Int64] = [:]
        var isStopped = false
    }

    private let state = Mutex(State())
    private let report: @Sendable (DeliveryUpdate) -> Void

    /// - Parameter report: receives the result of each attempt, on any thread.
    package init(report: @escaping @Sendable (DeliveryUpdate) -> Void) { self.report = report }

    /// Sets the ways of the following attempts.
    package func setWays(_ ways: [String: Way]) { state.withLock { $0.ways = ways } }

    /// Sends a notification when it is due, and repeats it until it succeeds or is given up.
    package func add(_ delivery: EventDelivery) {
        // A time that is further away than any delay shows that the clock was set.
        add(delivery, after: min(RetrySchedule.longestPause, max(0, delivery.due - Moment.now().wall)))
    }

    private func add(_ delivery: EventDelivery, after wait: Int64) {
        let target = Self.target(of: delivery)
        let queue = state.withLock { state in
            if let known = state.queues[target] { return known }
            let new = DispatchQueue(label: "lockstep.notify.\(target)")
            state.queues[target] = new
            return new
        }
        queue.asyncAfter(deadline: .now() + .microseconds(Int(wait))) { [weak self] in self?.attempt(delivery) }
    }

    /// Returns the name of the target: the part of the way before the recipient.
    private static func target(of delivery: EventDelivery) -> Substring { delivery.way.prefix { $0 != "/" } }

    /// Makes no more attempts. Pending notifications stay in the store.
    package func stop() { state.withLock { $0.isStopped = true } }

    private func attempt(_ delivery: EventDelivery) {
        let target = Self.target(of: delivery)
        let (way, isStopped, pausedUntil) = state.withLock {
            ($0.ways[delivery.way], $0.isStopped, $0.pauses[target])
        }
        guard !isStopped else { return }
        let pause = (pausedUntil ?? 0) - Moment.now().boot
        guard pause <= 0 else { return add(delivery, after: pause) }
        let outcome =
            way.map { send(delivery.event, by: $0) } ?? .refused("the rules have no target '\(delivery.way)' any more")
        let now = Moment.now().wall
        let update =
            switch outcome {
            case .success:
                DeliveryUpdate(of: delivery, state: .sent, attempts: delivery.attempts, due: now, error: nil)
            case .failed(let error, let pause):
                RetrySchedule.failure(delivery, error, isFinal: false, pause: pause, at: now)
            case .refused(let error): RetrySchedule.failure(delivery, error, isFinal: true, at: now)
            }
        if case .failed(_, let pause) = outcome, pause > 0 {
            let end = Moment.now().boot + min(RetrySchedule.longestPause, pause)
            state.withLock { $0.pauses[target] = end }
        }
        report(update)
        guard update.state == .pending else { return }
        var next = delivery
        next.attempts = update.attempts
        next.due = update.due
        add(next)
    }
}

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
