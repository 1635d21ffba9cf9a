import LockstepModel
import Synchronization

/// The rates requested from a source, shared with the threads of its devices.
final class IIORateRequests: Sendable {
    private struct State {
        /// nil before the first request: every stream is requested at its native rate.
        var rates: [SensorStream: Double]?
        var wakers: [Wakeup] = []
    }

    private let state = Mutex(State())

    /// Replaces the requested rates, in samples/s, and wakes all threads.
    func set(_ rates: [SensorStream: Double]) {
        state.withLock { $0.rates = rates.filter { $0.value > 0 } }
        wakeAll()
    }

    /// Wakes all threads, so that they check their devices.
    func wakeAll() { for waker in state.withLock({ $0.wakers }) { waker.signal() } }

    func add(_ wakers: [Wakeup]) { state.withLock { $0.wakers += wakers } }

    func remove(_ wakers: [Wakeup]) {
        state.withLock { state in state.wakers.removeAll { waker in wakers.contains { $0 === waker } } }
    }

    /// The number of wake-ups of all threads.
    var wakeups: Int { state.withLock { $0.wakers.reduce(0) { $0 + $1.wakeups } } }

    /// Returns the requested rates of `streams` in samples/s; streams that are not requested are not contained.
    func rates(of streams: [SensorStream]) -> [SensorStream: Double] {
        state.withLock { state in
            guard let rates = state.rates else {
                return Dictionary(uniqueKeysWithValues: streams.map { ($0, .infinity) })
            }
            return rates.filter { streams.contains($0.key) }
        }
    }
}
