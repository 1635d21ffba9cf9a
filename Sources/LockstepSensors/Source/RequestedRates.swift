import LockstepModel
import Synchronization

/// The rates last requested from a source, polled by its loop.
final class RequestedRates: Sendable {
    private struct State {
        var rates: [SensorStream: Double]?
        var hasChanged = false
    }

    private let state = Mutex(State())

    /// Stores the requested rates, in samples/s.
    func set(_ rates: [SensorStream: Double]) {
        state.withLock { state in
            state.hasChanged = state.hasChanged || state.rates != rates
            state.rates = rates
        }
    }

    /// Returns the rates if they changed since the last call, otherwise nil.
    func takeChange() -> [SensorStream: Double]? {
        state.withLock { state in
            guard state.hasChanged else { return nil }
            state.hasChanged = false
            return state.rates
        }
    }
}
