import LockstepModel

/// The changes of one device in the current transaction.
struct DeviceChanges {
    let device: DeviceAddress
    let id: Int64
    /// The time of the first message, on the collector's clock.
    private(set) var firstSeen: Timestamp?
    /// The time of the last message that no row of `_waiting` shows.
    var lastSeen: Timestamp?
    /// The numbers of stored, duplicate and conflicting samples.
    var counts = IngestResult.Counts()
    /// The new life-cycle snapshot, or nil if it did not change in more than its evidence time.
    var snapshot: LifecycleSnapshot?

    init(_ device: DeviceAddress, id: Int64) {
        self.device = device
        self.id = id
    }

    /// Records a message received at `time`.
    mutating func recordMessage(at time: Timestamp) {
        firstSeen = firstSeen.map { min($0, time) } ?? time
    }

    /// Records the messages of a run.
    mutating func add(_ run: SampleRun) {
        for batch in run.batches { recordMessage(at: batch.receivedAt) }
    }
}
