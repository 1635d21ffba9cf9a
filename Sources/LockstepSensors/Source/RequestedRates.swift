import LockstepModel
import Synchronization

/// The rates that a source was last told, for its loop to pick up.
final class RequestedRates: Sendable {
    private struct State {
        var rates: [SensorStream: Double]?
        var isNew = false
    }

    private let state = Mutex(State())

    func set(_ rates: [SensorStream: Double]) {
        state.withLock { state in
            state.isNew = state.isNew || state.rates != rates
            state.rates = rates
        }
    }

    /// What has changed since the last call; nil where nothing has.
    func takeChange() -> [SensorStream: Double]? {
        state.withLock { state in
            guard state.isNew else { return nil }
            state.isNew = false
            return state.rates
        }
    }
}
