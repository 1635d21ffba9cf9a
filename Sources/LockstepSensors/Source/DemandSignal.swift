import Synchronization

/// Whether anyone wants what a source gives: for a source that can do nothing less than stop.
///
/// One task waits at a time.
final class DemandSignal: Sendable {
    private struct State {
        var isWanted = true
        var waiter: CheckedContinuation<Void, Never>?
        var onLoss: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    func set(_ isWanted: Bool) {
        let (waiter, onLoss) = state.withLock { state in
            state.isWanted = isWanted
            defer { if isWanted { state.waiter = nil } else { state.onLoss = nil } }
            return (isWanted ? state.waiter : nil, isWanted ? nil : state.onLoss)
        }
        waiter?.resume()
        onLoss?()
    }

    /// Calls `body` once, as soon as nobody wants it any more: now, if that is so already.
    func onLoss(_ body: @escaping @Sendable () -> Void) {
        let isWanted = state.withLock { state in
            if state.isWanted { state.onLoss = body }
            return state.isWanted
        }
        if !isWanted { body() }
    }

    /// Returns when someone wants it, or the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = Task.isCancelled
                let waits = state.withLock { state in
                    guard !state.isWanted, !isOver else { return false }
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
