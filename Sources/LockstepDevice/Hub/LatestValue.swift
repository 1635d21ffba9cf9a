import Synchronization

/// Keeps the latest value of a sequence of updates between start and stop, for polling.
final class LatestValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var error: (any Error)?
        var task: Task<Void, Never>?
        /// Identifies the current updates, so that the task of earlier updates does not change the state.
        var number = 0
    }

    private let state = Mutex(State())

    /// The latest value; nil before the first.
    var value: Value? { state.withLock { $0.value } }
    /// The error that ended the updates; nil after ``stop()``.
    var error: (any Error)? { state.withLock { $0.error } }
    /// Whether updates are being followed.
    var isActive: Bool { state.withLock { $0.task != nil } }

    /// Starts following `updates`, and stops following earlier ones.
    func start(_ updates: SensorUpdates<Value>) {
        state.withLock { state in
            state.task?.cancel()
            state.number += 1
            state.value = nil
            state.error = nil
            let number = state.number
            state.task = Task { [weak self] in
                var failure: (any Error)?
                do {
                    for try await value in updates {
                        guard let self else { return }
                        self.update(number) { $0.value = value }
                    }
                } catch {
                    failure = error
                }
                self?.update(number) { state in
                    state.task = nil
                    state.error = failure
                }
            }
        }
    }

    /// Stops following the updates and keeps the latest value.
    func stop() {
        state.withLock { state in
            state.task?.cancel()
            state.task = nil
            state.number += 1
        }
    }

    deinit { state.withLock { $0.task }?.cancel() }

    /// Changes the state if the updates with this number are still the current ones.
    private func update(_ number: Int, _ change: (inout sending State) -> Void) {
        state.withLock { if $0.number == number { change(&$0) } }
    }
}
