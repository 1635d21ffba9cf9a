import Dispatch
import LockstepModel
import LockstepStore
import Synchronization

/// A store that takes groups in while its owner prepares the next.
///
/// The owner is one thread. What it added is on disk when ``commit(adding:)`` has said so, all of it or nothing.
final class StoreWriter: Sendable {
    private struct State {
        let store: any SampleStore
        /// Why a group could not be taken in: those after it are not tried, for they would begin a new transaction.
        var failure: (any Error)?

        mutating func add(_ group: IngestGroup) {
            guard failure == nil else { return }
            do { try store.add(group) } catch { failure = error }
        }

        mutating func commit() -> Result<IngestResult, any Error> {
            if let failure = failure.take() { return .failure(failure) }
            return Result { try store.commit() }
        }
    }

    /// Groups that wait at the most: who has a further one waits until they are taken in.
    private static let mostWaiting = 2

    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "lockstep.collector.store")
    private let waiting = Atomic<Int>(0)
    private let needsMaintenance = Atomic<Bool>(false)

    init(_ store: sending any SampleStore) { state = Mutex(State(store: store)) }

    /// What is known of every device.
    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot] {
        try state.withLock { try $0.store.lifecycles() }
    }

    /// Whether there is nothing left to do of what was handed over.
    var isIdle: Bool { waiting.load(ordering: .acquiring) == 0 }

    /// Has a group taken in, on another thread.
    func add(_ group: IngestGroup) {
        if waiting.load(ordering: .acquiring) >= Self.mostWaiting { finish() }
        enqueue { $0.add(group) }
    }

    /// Takes a group in and writes it with all that was added since the last commit, on the owner's thread.
    func commit(adding group: IngestGroup) -> Result<IngestResult, any Error> {
        if !isIdle { finish() }
        return state.withLock { state in
            if !group.isEmpty { state.add(group) }
            let result = state.commit()
            needsMaintenance.store(state.store.needsMaintenance, ordering: .releasing)
            return result
        }
    }

    /// Does, on another thread, what the store has put off until after a commit.
    func performMaintenance() {
        guard needsMaintenance.exchange(false, ordering: .acquiringAndReleasing) else { return }
        enqueue { $0.store.performMaintenance() }
    }

    private func enqueue(_ work: @escaping @Sendable (inout State) -> Void) {
        waiting.add(1, ordering: .acquiringAndReleasing)
        queue.async { [self] in
            state.withLock { work(&$0) }
            waiting.subtract(1, ordering: .acquiringAndReleasing)
        }
    }

    /// Waits until there is nothing left to do of what was handed over, and the queue has let go of the store.
    func finish() { queue.sync {} }
}
