public import LockstepModel

/// Where samples are kept, each once. Used from one thread at a time.
///
/// What ``add(_:)`` takes is on disk, and may be acknowledged, once ``commit()`` has returned: all groups since the last
/// commit, or none of them.
public protocol SampleStore: AnyObject {
    /// Takes a group in.
    /// - Throws: nothing that was taken in since the last commit is kept then, and the store can go on: the same groups
    ///   may be taken in again.
    func add(_ group: IngestGroup) throws

    /// Writes what was taken in since the last commit.
    /// - Throws: as ``add(_:)``.
    func commit() throws -> IngestResult

    /// Whether there is work that can wait until what was committed is acknowledged, but not for ever.
    var needsMaintenance: Bool { get }

    /// Does that work; where it can't be done now, the next commit asks for it again.
    func performMaintenance()

    /// What is known of every device, for a collector that starts.
    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot]
}

extension SampleStore {
    /// None.
    public var needsMaintenance: Bool { false }

    /// Nothing.
    public func performMaintenance() {}

    /// Takes a group in and writes it.
    /// - Throws: as ``add(_:)``.
    @discardableResult
    public func write(_ group: IngestGroup) throws -> IngestResult {
        try add(group)
        return try commit()
    }
}
