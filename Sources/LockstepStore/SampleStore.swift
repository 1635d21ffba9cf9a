public import LockstepModel

/// Where samples are kept, each once. Used from one thread at a time.
public protocol SampleStore: AnyObject {
    /// Writes everything of the group in one transaction: all or nothing.
    /// - Throws: nothing of the group is kept then, and the store can go on: the same group may be written again.
    func write(_ group: IngestGroup) throws -> IngestResult

    /// What is known of every device, for a collector that starts.
    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot]
}
