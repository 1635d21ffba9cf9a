import Dispatch
import LockstepModel
package import LockstepRules
package import LockstepStore
import Synchronization

/// Sends notifications by webhook, ntfy, e-mail and commands, each way on a queue of its own.
///
/// The store keeps what is pending. The notifier reports each attempt, and the owner writes it to the store.
package final class Notifier: Sendable {
    private struct State {
        var ways: [String: Way] = [:]
        var queues: [String: DispatchQueue] = [:]
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
        let queue = state.withLock { state in
            if let known = state.queues[delivery.way] { return known }
            let new = DispatchQueue(label: "lockstep.notify.\(delivery.way)")
            state.queues[delivery.way] = new
            return new
        }
        let wait = min(RetrySchedule.longest, max(0, delivery.due - Moment.now().wall))
        queue.asyncAfter(deadline: .now() + .microseconds(Int(wait))) { [weak self] in self?.attempt(delivery) }
    }

    /// Makes no more attempts. Pending notifications stay in the store.
    package func stop() { state.withLock { $0.isStopped = true } }

    private func attempt(_ delivery: EventDelivery) {
        let (way, isStopped) = state.withLock { ($0.ways[delivery.way], $0.isStopped) }
        guard !isStopped else { return }
        let outcome =
            way.map { send(delivery.event, by: $0) } ?? .refused("the rules have no target '\(delivery.way)' any more")
        let now = Moment.now().wall
        let update =
            switch outcome {
            case .success:
                DeliveryUpdate(of: delivery, state: .sent, attempts: delivery.attempts, due: now, error: nil)
            case .failed(let error): RetrySchedule.failure(delivery, error, isFinal: false, at: now)
            case .refused(let error): RetrySchedule.failure(delivery, error, isFinal: true, at: now)
            }
        report(update)
        guard update.state == .pending else { return }
        var next = delivery
        next.attempts = update.attempts
        next.due = update.due
        add(next)
    }
}
