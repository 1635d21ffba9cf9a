public import LockstepModel

/// A store that keeps each sample once. Use a store from one thread at a time.
///
/// Groups added with ``add(_:)`` are on disk, and may be acknowledged, as soon as ``commit()`` has returned. A commit
/// writes all groups added since the last commit, or none of them.
public protocol SampleStore: AnyObject {
    /// Adds a group to the current transaction.
    /// - Throws: an error after which all groups added since the last commit are discarded. The store remains usable, and
    ///   the same groups may be added again.
    func add(_ group: IngestGroup) throws

    /// Commits all groups that were added since the last commit.
    /// - Throws: as ``add(_:)``.
    func commit() throws -> IngestResult

    /// Whether the store needs maintenance, such as a checkpoint. It may be delayed until after the acknowledgements of
    /// the last commit.
    var needsMaintenance: Bool { get }

    /// Performs the maintenance. If it fails, ``needsMaintenance`` is true again after the next commit.
    func performMaintenance()

    /// Returns the life-cycle snapshot of every device, for the start of a collector.
    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot]
}

extension SampleStore {
    /// False: no maintenance is needed by default.
    public var needsMaintenance: Bool { false }

    /// Does nothing by default.
    public func performMaintenance() {}

    /// Adds a group and commits it.
    /// - Throws: as ``add(_:)``.
    @discardableResult
    public func write(_ group: IngestGroup) throws -> IngestResult {
        try add(group)
        return try commit()
    }
}
