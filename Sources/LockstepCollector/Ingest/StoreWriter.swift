import Dispatch
import LockstepModel
import LockstepStore
import Synchronization

/// Writes groups to a store on another thread, while the owner prepares the next group.
///
/// The owner is a single thread. All added groups are on disk when ``commit(adding:)`` returns success; if it returns a
/// failure, none of them is.
final class StoreWriter: Sendable {
    private struct State {
        let store: any SampleStore
        /// The error of a failed group. Later groups are skipped until the commit, because they would open a new
        /// transaction.
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

    /// The maximum number of queued groups. ``add(_:)`` blocks while the queue is full.
    private static let maxPending = 2

    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "lockstep.collector.store")
    /// The number of queued work items.
    private let pending = Atomic<Int>(0)
    private let needsMaintenance = Atomic<Bool>(false)

    init(_ store: sending any SampleStore) { state = Mutex(State(store: store)) }

    /// Returns the stored life cycle of every device.
    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot] {
        try state.withLock { try $0.store.lifecycles() }
    }

    /// Whether all queued work is done.
    var isIdle: Bool { pending.load(ordering: .acquiring) == 0 }

    /// Queues a group for writing on the other thread.
    func add(_ group: IngestGroup) {
        if pending.load(ordering: .acquiring) >= Self.maxPending { finish() }
        enqueue { $0.add(group) }
    }

    /// Writes a last group on the owner's thread, and commits it together with all groups added since the last commit.
    func commit(adding group: IngestGroup) -> Result<IngestResult, any Error> {
        if !isIdle { finish() }
        return state.withLock { state in
            if !group.isEmpty { state.add(group) }
            let result = state.commit()
            needsMaintenance.store(state.store.needsMaintenance, ordering: .releasing)
            return result
        }
    }

    /// Queues the store's deferred maintenance, if the last commit left any.
    func performMaintenance() {
        guard needsMaintenance.exchange(false, ordering: .acquiringAndReleasing) else { return }
        enqueue { $0.store.performMaintenance() }
    }

    private func enqueue(_ work: @escaping @Sendable (inout State) -> Void) {
        pending.add(1, ordering: .acquiringAndReleasing)
        queue.async { [self] in
            state.withLock { work(&$0) }
            pending.subtract(1, ordering: .acquiringAndReleasing)
        }
    }

    /// Blocks until all queued work is done and the queue has released the store.
    func finish() { queue.sync {} }
}
