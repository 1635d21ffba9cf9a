import LockstepModel

/// The changes of one device in the current transaction.
struct DeviceChanges {
    /// The address of the device.
    let device: DeviceAddress
    let id: Int64
    /// The time of the first message, on the collector's clock.
    private(set) var firstSeen: Timestamp?
    /// The numbers of stored, duplicate and conflicting samples.
    var counts = IngestResult.Counts()
    /// The changes of the counters and batch numbers that no row of the log shows.
    var ledger = LedgerChange()
    /// The new life-cycle snapshot, or nil if it did not change in more than its evidence time.
    var snapshot: LifecycleSnapshot?
    /// The first transition of the device, if it is to be written with a snapshot only.
    var firstTransition: LifecycleTransition?

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
