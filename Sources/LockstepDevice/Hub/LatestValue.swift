import Synchronization

/// The pull side of a sensor: keeps the latest of its updates between start and stop.
final class LatestValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var error: (any Error)?
        var task: Task<Void, Never>?
        var number = 0
    }

    private let state = Mutex(State())

    var value: Value? { state.withLock { $0.value } }
    /// What ended the updates, if it was not ``stop()``.
    var error: (any Error)? { state.withLock { $0.error } }
    var isActive: Bool { state.withLock { $0.task != nil } }

    /// Begins; where it has begun before, with these updates instead.
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

    /// Ends; the latest value stays.
    func stop() {
        state.withLock { state in
            state.task?.cancel()
            state.task = nil
            state.number += 1
        }
    }

    deinit { state.withLock { $0.task }?.cancel() }

    /// Changes the state, unless it is about other updates by now.
    private func update(_ number: Int, _ change: (inout sending State) -> Void) {
        state.withLock { if $0.number == number { change(&$0) } }
    }
}
