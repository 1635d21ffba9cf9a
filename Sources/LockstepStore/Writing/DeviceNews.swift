import LockstepModel

/// What a transaction brought of one device.
struct DeviceNews {
    let device: DeviceAddress
    private(set) var firstSeen: Timestamp?
    private(set) var lastSeen: Timestamp?
    /// In µs since 1970.
    private(set) var newestSample: Int64?
    private(set) var counts = IngestResult.Counts()
    /// The life cycle, where it was touched.
    var snapshot: LifecycleSnapshot?

    init(_ device: DeviceAddress) { self.device = device }

    mutating func see(at time: Timestamp) {
        firstSeen = firstSeen.map { min($0, time) } ?? time
        lastSeen = lastSeen.map { max($0, time) } ?? time
    }

    mutating func add(_ run: SampleRun, _ counts: IngestResult.Counts) {
        for batch in run.batches { see(at: batch.receivedAt) }
        if let newest = run.samples.times.max() { newestSample = max(newest, newestSample ?? newest) }
        self.counts += counts
    }
}
