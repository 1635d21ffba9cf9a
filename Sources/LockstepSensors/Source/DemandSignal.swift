import Synchronization

/// Whether any stream of a source is requested, for sources that can only start and stop.
///
/// At most one task waits at a time.
final class DemandSignal: Sendable {
    private struct State {
        var isRequested = true
        var waiter: CheckedContinuation<Void, Never>?
        var onLoss: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Updates the demand, resumes a waiting task and calls the loss handler.
    func set(_ isRequested: Bool) {
        let (waiter, onLoss) = state.withLock { state in
            state.isRequested = isRequested
            defer { if isRequested { state.waiter = nil } else { state.onLoss = nil } }
            return (isRequested ? state.waiter : nil, isRequested ? nil : state.onLoss)
        }
        waiter?.resume()
        onLoss?()
    }

    /// Calls `body` once when no stream is requested any longer, or immediately if none is.
    func onLoss(_ body: @escaping @Sendable () -> Void) {
        let isRequested = state.withLock { state in
            if state.isRequested { state.onLoss = body }
            return state.isRequested
        }
        if !isRequested { body() }
    }

    /// Returns when a stream is requested or the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = Task.isCancelled
                let waits = state.withLock { state in
                    guard !state.isRequested, !isOver else { return false }
                    state.waiter = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }?.resume()
        }
    }
}
