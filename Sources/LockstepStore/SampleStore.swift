public import LockstepModel

/// A store that keeps each sample once. Use a store from one thread at a time.
///
/// When ``commit()`` returns, all groups added with ``add(_:)`` since the last commit are stored and may be
/// acknowledged. A commit that throws stores none of them.
public protocol SampleStore: AnyObject {
    /// Where the store is, or nil if it is only in this process.
    var location: StoreLocation? { get }

    /// Adds a group to the current transaction.
    /// - Throws: an error of the store. All groups added since the last commit are then discarded. The store remains
    ///   usable, and the same groups may be added again.
    func add(_ group: IngestGroup) throws

    /// The time before which a commit waits, if the store limits their rate.
    var nextCommit: ContinuousClock.Instant? { get }

    /// Waits until the store accepts the next commit, if it limits their rate.
    func waitForCommit()

    /// Commits all groups that were added since the last commit.
    /// - Throws: an error of the store. The groups are then discarded, and may be added again.
    func commit() throws -> IngestResult

    /// Whether the store needs maintenance, such as a checkpoint. Maintenance may wait until the last commit is
    /// acknowledged.
    var needsMaintenance: Bool { get }

    /// Does one bounded piece of maintenance: a checkpoint, or one slice of a merge. A piece takes at most about 10 ms,
    /// besides waiting for the disk.
    ///
    /// Call it between transactions, and again while ``needsMaintenance`` is true and nothing else is to do. If a piece
    /// fails, ``needsMaintenance`` is false until the next commit, so that the caller does not repeat it endlessly.
    func performMaintenance()

    /// Returns the life-cycle snapshot of every device. A collector restores them when it starts.
    /// - Throws: an error of the store if the snapshots cannot be read.
    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot]

    /// Takes over devices from an earlier owner: reads them again, and makes later writes of earlier owners about their
    /// states invalid.
    /// - Parameters:
    ///   - token: the token of this owner. All later writes carry it.
    ///   - owns: returns whether a device belongs to this owner.
    /// - Throws: an error of the store, also if collectors cannot share this kind of store, or if the token is not higher
    ///   than those that the store holds, with ``StoreError/neededToken``.
    func takeOver(_ token: FencingToken, owning owns: (DeviceAddress) -> Bool) throws

    /// Sets the observer of the following transactions, or removes it.
    func setObserver(_ observer: (any IngestObserver)?)

    /// Returns the states that an observer has kept.
    func observerStates() throws -> [ObserverState]

    /// Returns the deliveries that are pending.
    func pendingDeliveries() throws -> [EventDelivery]

    /// Returns the ids of all devices that are not forgotten, as the observer receives them.
    func deviceIDs() throws -> [(address: DeviceAddress, id: Int64)]

    /// Returns the recorded sessions.
    func sessions() throws -> [RecordingSession]

    /// Returns the batch numbers of a device that are committed, by epoch.
    func batchNumbers(of device: DeviceAddress) throws -> [Epoch: BatchNumbers]

    /// Returns the size of the store and what leaves it, or nil if that is not known here.
    func space() -> StoreSpace?

    /// Writes what can be merged now and releases resources. The store is not used afterwards.
    func close()
}

extension SampleStore {
    /// Returns nil by default.
    public var location: StoreLocation? { nil }

    /// Nil by default.
    public var nextCommit: ContinuousClock.Instant? { nil }

    /// Returns at once by default.
    public func waitForCommit() {}

    /// Throws by default: the store belongs to one collector.
    public func takeOver(_ token: FencingToken, owning owns: (DeviceAddress) -> Bool) throws {
        throw StoreError(.other, "collectors of a cluster cannot share this kind of store: use a ClickHouse store")
    }

    /// Does nothing by default: the store has no observer.
    public func setObserver(_ observer: (any IngestObserver)?) {}

    /// Returns nil by default: the server knows.
    public func space() -> StoreSpace? { nil }

    /// Returns nothing by default.
    public func observerStates() -> [ObserverState] { [] }

    /// Returns nothing by default.
    public func pendingDeliveries() -> [EventDelivery] { [] }

    /// Returns nothing by default.
    public func deviceIDs() -> [(address: DeviceAddress, id: Int64)] { [] }

    /// Returns nothing by default.
    public func sessions() -> [RecordingSession] { [] }

    /// Returns nothing by default.
    public func batchNumbers(of device: DeviceAddress) -> [Epoch: BatchNumbers] { [:] }

    /// Returns false: by default, no maintenance is needed.
    public var needsMaintenance: Bool { false }

    /// Does nothing by default.
    public func performMaintenance() {}

    /// Does nothing by default: the store releases its resources when it is deinitialized.
    public func close() {}

    /// Adds a group and commits it, together with all groups added since the last commit.
    /// - Throws: an error of ``add(_:)`` or ``commit()``.
    @discardableResult
    public func write(_ group: IngestGroup) throws -> IngestResult {
        try add(group)
        return try commit()
    }
}
