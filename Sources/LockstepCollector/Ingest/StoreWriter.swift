import Dispatch
import LockstepModel
import LockstepRules
import LockstepStore
import Synchronization

/// Writes groups to a store on another thread, while the owner prepares the next group.
///
/// The owner is a single thread. All added groups are on disk when ``commit(adding:)`` returns success; if it returns a
/// failure, none of them is.
///
/// The store's maintenance runs on the same thread, in pieces between two transactions. A commit waits for at most one
/// piece. If there is no time for pieces, the store also merges at the start of a transaction, usually for 10 ms at most.
final class StoreWriter: Sendable {
    private struct State {
        let store: any SampleStore
        /// The rules, or nil if there are none.
        var rules: RuleObserver?
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
    /// The number of queued groups.
    private let pending = Atomic<Int>(0)
    /// The number of interruptions of the maintenance by the owner. Pieces that were queued before the last one are
    /// skipped.
    let interruptions = Atomic<Int>(0)
    /// The number of interruptions at the start of the maintenance that runs, or -1 if none does.
    private let maintenanceStart = Atomic<Int>(-1)

    init(_ store: sending any SampleStore) { state = Mutex(State(store: store)) }

    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot] {
        try state.withLock { try $0.store.lifecycles() }
    }

    func sessions() throws -> [RecordingSession] { try state.withLock { try $0.store.sessions() } }

    /// Returns the committed batch numbers of a device, or nil if the store cannot be read.
    func batchNumbers(of device: DeviceAddress) -> [Epoch: BatchNumbers]? {
        state.withLock { try? $0.store.batchNumbers(of: device) }
    }

    /// Takes over the devices that `owns` accepts from an earlier owner.
    func takeOver(_ token: FencingToken, owning owns: @Sendable (DeviceAddress) -> Bool) throws {
        try state.withLock { try $0.store.takeOver(token, owning: owns) }
    }

    /// Sets the rules of the following transactions.
    /// - Parameters:
    ///   - folder: the folder of the store.
    ///   - owns: returns whether the collector has a device.
    /// - Throws: an error of the store.
    func setRules(
        _ rules: RuleSet, folder: String, owning owns: @Sendable (DeviceAddress) -> Bool = { _ in true }
    ) throws {
        finish()
        try state.withLock { state in
            if let known = state.rules {
                try known.replace(rules, store: state.store)
            } else if !rules.rules.isEmpty {
                state.rules = try RuleObserver(rules, store: state.store, folder: folder, owns: owns)
            }
            state.store.setObserver(state.rules.flatMap { $0.isEmpty ? nil : $0 })
        }
    }

    /// Returns whether a tick of the rules has something to do. While the store is busy, this is unknown, and the tick
    /// may be part of the next commit.
    func isTickDue(_ tick: IngestGroup.Tick) -> Bool {
        guard isIdle else { return true }
        return state.withLockIfAvailable { $0.rules?.isTickDue(tick) ?? false } ?? true
    }

    /// Returns the notifications that earlier runs have left.
    func pendingDeliveries() throws -> [EventDelivery] { try state.withLock { try $0.store.pendingDeliveries() } }

    /// Returns the size of the store, or nil while it is busy or if it is on a server.
    func space() -> StoreSpace? { state.withLockIfAvailable { $0.store.space() } ?? nil }

    /// Whether all queued groups are written.
    var isIdle: Bool { pending.load(ordering: .acquiring) == 0 }

    /// Queues a group for writing on the other thread. No maintenance runs between this and the end of the commit.
    func add(_ group: IngestGroup) {
        interruptMaintenance()
        if pending.load(ordering: .acquiring) >= Self.maxPending { finish() }
        pending.add(1, ordering: .acquiringAndReleasing)
        queue.async { [self] in
            state.withLock { $0.add(group) }
            pending.subtract(1, ordering: .acquiringAndReleasing)
        }
    }

    /// The time before which the store accepts no commit, or nil if it does not limit them.
    var nextCommit: ContinuousClock.Instant? { state.withLock { $0.store.nextCommit } }

    /// Waits until all queued groups are written, and until the store accepts the next commit.
    func waitForCommit() {
        interruptMaintenance()
        if !isIdle { finish() }
        state.withLock { $0.store.waitForCommit() }
    }

    /// Writes a last group on the owner's thread, and commits it together with all groups added since the last commit.
    func commit(adding group: IngestGroup) -> Result<IngestResult, any Error> {
        interruptMaintenance()
        if !isIdle { finish() }
        return state.withLock { state in
            if !group.isEmpty { state.add(group) }
            return state.commit()
        }
    }

    /// Starts the store's maintenance, if it needs any now. It continues until nothing is due or the owner adds or commits a
    /// group. Call this between two transactions, also if there was none for a while: a store may wait for its server before
    /// the next piece.
    func performMaintenance() {
        let current = interruptions.load(ordering: .acquiring)
        guard isIdle, state.withLockIfAvailable({ $0.store.needsMaintenance }) == true,
            maintenanceStart.exchange(current, ordering: .acquiringAndReleasing) != current
        else { return }
        enqueuePiece(unlessInterruptedAfter: current)
    }

    /// Queues a piece of maintenance, which queues the next one.
    /// - Parameter start: the number of interruptions at the start of the maintenance.
    private func enqueuePiece(unlessInterruptedAfter start: Int) {
        queue.async { [self] in
            let isUnfinished = state.withLock { state in
                guard interruptions.load(ordering: .acquiring) == start else { return false }
                state.store.performMaintenance()
                return state.store.needsMaintenance
            }
            if isUnfinished { return enqueuePiece(unlessInterruptedAfter: start) }
            _ = maintenanceStart.compareExchange(expected: start, desired: -1, ordering: .acquiringAndReleasing)
        }
    }

    private func interruptMaintenance() { interruptions.add(1, ordering: .acquiringAndReleasing) }

    /// Blocks until all queued groups are written and the queue has released the store.
    func finish() { queue.sync {} }

    /// Closes the store, after all queued groups are written. Nothing can be written afterwards.
    func close() {
        interruptMaintenance()
        queue.sync { state.withLock { $0.store.close() } }
        finish()
    }
}
