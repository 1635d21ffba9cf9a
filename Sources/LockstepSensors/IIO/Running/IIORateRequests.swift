import LockstepModel
import Synchronization

/// The rates that a source was told, for the threads of its devices.
final class IIORateRequests: Sendable {
    private struct State {
        /// nil before anything was said: everything is wanted.
        var rates: [SensorStream: Double]?
        var wakers: [WakePipe] = []
    }

    private let state = Mutex(State())

    /// Says what is wanted, and wakes everyone whom it may concern.
    func set(_ rates: [SensorStream: Double]) {
        let wakers = state.withLock { state in
            state.rates = rates.filter { $0.value > 0 }
            return state.wakers
        }
        for waker in wakers { waker.wake() }
    }

    /// Adds those who are to hear of changes.
    func add(_ wakers: [WakePipe]) { state.withLock { $0.wakers += wakers } }

    func remove(_ wakers: [WakePipe]) {
        state.withLock { state in state.wakers.removeAll { waker in wakers.contains { $0 === waker } } }
    }

    /// How often all of them have woken.
    var wakeups: Int { state.withLock { $0.wakers.reduce(0) { $0 + $1.wakeups } } }

    /// Samples a second that are wanted of each of `streams`; of one that is not here none.
    func wanted(of streams: [SensorStream]) -> [SensorStream: Double] {
        state.withLock { state in
            guard let rates = state.rates else {
                return Dictionary(uniqueKeysWithValues: streams.map { ($0, .infinity) })
            }
            return rates.filter { streams.contains($0.key) }
        }
    }
}
