import LockstepModel

/// The changes of one device in the current transaction.
struct DeviceChanges {
    /// The address of the device.
    let device: DeviceAddress
    /// The time of the first message, on the collector's clock.
    private(set) var firstSeen: Timestamp?
    /// The time of the last message, on the collector's clock.
    private(set) var lastSeen: Timestamp?
    /// The time of the newest sample, in µs since 1970.
    private(set) var newestSample: Int64?
    /// The numbers of stored, duplicate and conflicting samples.
    private(set) var counts = IngestResult.Counts()
    /// The new life-cycle snapshot, or nil if it did not change.
    var snapshot: LifecycleSnapshot?

    init(_ device: DeviceAddress) { self.device = device }

    /// Records a message received at `time`.
    mutating func recordMessage(at time: Timestamp) {
        firstSeen = firstSeen.map { min($0, time) } ?? time
        lastSeen = lastSeen.map { max($0, time) } ?? time
    }

    /// Records a run of batches and its counts.
    mutating func add(_ run: SampleRun, _ counts: IngestResult.Counts) {
        for batch in run.batches { recordMessage(at: batch.receivedAt) }
        if let newest = run.samples.times.max() { newestSample = max(newest, newestSample ?? newest) }
        self.counts += counts
    }
}
