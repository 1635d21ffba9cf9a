public import LockstepModel

/// A store that keeps each sample once. Use a store from one thread at a time.
///
/// When ``commit()`` returns, all groups added with ``add(_:)`` since the last commit are stored and may be
/// acknowledged. A commit that throws stores none of them.
public protocol SampleStore: AnyObject {
    /// Adds a group to the current transaction.
    /// - Throws: an error of the store. All groups added since the last commit are then discarded. The store remains
    ///   usable, and the same groups may be added again.
    func add(_ group: IngestGroup) throws

    /// Commits all groups that were added since the last commit.
    /// - Throws: an error of the store. The groups are then discarded, and may be added again.
    func commit() throws -> IngestResult

    /// Whether the store needs maintenance, such as a checkpoint. Maintenance may wait until the last commit is
    /// acknowledged.
    var needsMaintenance: Bool { get }

    /// Performs the maintenance. If it fails, ``needsMaintenance`` is true again after the next commit.
    func performMaintenance()

    /// Returns the life-cycle snapshot of every device. A collector restores them when it starts.
    /// - Throws: an error of the store if the snapshots cannot be read.
    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot]
}

extension SampleStore {
    /// Returns false: by default, no maintenance is needed.
    public var needsMaintenance: Bool { false }

    /// Does nothing by default.
    public func performMaintenance() {}

    /// Adds a group and commits it, together with all groups added since the last commit.
    /// - Throws: an error of ``add(_:)`` or ``commit()``.
    @discardableResult
    public func write(_ group: IngestGroup) throws -> IngestResult {
        try add(group)
        return try commit()
    }
}
