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

/// Whether any stream of a source is requested, for sources that can only start and stop.
///
/// At most one task waits at a time.
final class DemandSignal: Sendable {
    private struct State {
        var isRequested = true
        var waiter: CheckedContinuation<Void, Never>?
        var onIdle: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Sets whether any stream is requested. If so, resumes the waiting task; if not, calls the idle handler.
    func set(_ isRequested: Bool) {
        let (waiter, onIdle) = state.withLock { state in
            state.isRequested = isRequested
            defer { if isRequested { state.waiter = nil } else { state.onIdle = nil } }
            return (isRequested ? state.waiter : nil, isRequested ? nil : state.onIdle)
        }
        waiter?.resume()
        onIdle?()
    }

    /// Calls `body` once when no stream is requested any more, or immediately if none is.
    func onIdle(_ body: @escaping @Sendable () -> Void) {
        let isRequested = state.withLock { state in
            if state.isRequested { state.onIdle = body }
            return state.isRequested
        }
        if !isRequested { body() }
    }

    /// Waits until a stream is requested or the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = Task.isCancelled
                let isWaiting = state.withLock { state in
                    guard !state.isRequested, !isCancelled else { return false }
                    state.waiter = continuation
                    return true
                }
                if !isWaiting { continuation.resume() }
            }
        } onCancel: {
            state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }?.resume()
        }
    }
}
