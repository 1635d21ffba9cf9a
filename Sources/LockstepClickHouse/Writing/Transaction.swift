import LockstepModel
import LockstepStore

/// A device and stream, as an index of each.
struct SeriesKey: Hashable {
    /// The index of the device in the store.
    let device: Int
    /// The index of the stream in the store.
    let stream: Int
}

/// The samples of a device and stream that a transaction will insert.
struct PendingSeries {
    /// The time of the newest sample, including those stored earlier; nil if there is none.
    var newest: Int64?
    /// The rows of the series in the ``SampleRows`` of its stream.
    private var parts: [Range<Int>] = []
    /// The hashes by time. Only needed, and only kept up to date, once a sample is not newer than all others.
    private var index: [Int64: [UInt64]]?

    init(newest: Int64?) { self.newest = newest }

    /// Records the last rows of the stream.
    mutating func append(_ range: Range<Int>, of rows: SampleRows) {
        guard !range.isEmpty else { return }
        parts.append(range)
        guard index != nil else { return }
        for row in range { index?[rows.times[row], default: []].append(rows.hashes[row]) }
    }

    /// Returns the hashes of the rows with a time.
    mutating func hashes(at time: Int64, in rows: SampleRows) -> [UInt64] {
        if index == nil {
            var index: [Int64: [UInt64]] = [:]
            for row in parts.joined() { index[rows.times[row], default: []].append(rows.hashes[row]) }
            self.index = index
        }
        return index?[time] ?? []
    }
}

/// Everything that was added since the last commit. The store adopts it when all inserts have succeeded; a failed
/// transaction is discarded as a whole.
struct Transaction {
    /// The rows of each stream, by index.
    var samples: [Int: SampleRows] = [:]
    /// The series with new rows.
    var series: [SeriesKey: PendingSeries] = [:]
    /// When the first samples were added, or nil if there are none.
    var began: ContinuousClock.Instant?
    /// The number of samples in each minute, by its start, whether they are stored already or not.
    var minutes: [SeriesKey: [Int64: Int]] = [:]
    /// The changed devices, by index.
    var devices: [Int: DeviceRecord] = [:]
    /// The devices that are new or whose life cycle changed. Their rows are written in this transaction.
    var urgentDevices: Set<Int> = []
    /// The counts of each device whose samples were received.
    var counts: [Int: IngestResult.Counts] = [:]
    /// The changed batch numbers, by the number of the scope.
    var numbers: [Int: BatchNumbers] = [:]
    /// The transitions, encoded.
    var states = RowBinary()
    /// The rejected messages, encoded.
    var rejected = RowBinary()
    /// The estimates of clocks, encoded.
    var clocks = RowBinary()
    /// The number of conflicts to insert.
    var conflicts = 0
    /// The times of the samples that the observer has evaluated, by device id and stream.
    var evaluated: [Int64: [String: [Int64]]] = [:]
    /// The times of samples that an earlier transaction has evaluated and that are stored after this one.
    var resolved: [Int64: [String: [Int64]]] = [:]
    /// The transitions that the observer has evaluated, by device id.
    var transitions: [Int64: [LifecycleTransition]] = [:]
    /// The results of attempts to deliver, encoded.
    var deliveries = RowBinary()
    /// The notifications that are not tried any more.
    var finishedDeliveries: [RuleLedger.DeliveryKey] = []
    /// The first acknowledgements of events, encoded.
    var acknowledgements = RowBinary()
    /// The acknowledged events, with their first acknowledgements.
    var acknowledged: [StoredAcknowledgement] = []

    /// The new deletions, and those that have refused samples, by request.
    var deletions: [String: DeletionRecord] = [:]
    /// The changed sessions, and new markers of sessions.
    var sessions: [RecordingSession] = []
    var markers: [(session: RecordingSession.Key, marker: RecordingSession.Marker)] = []
    /// The ids of markers that have left a session for another one.
    var splits: [(session: RecordingSession.Key, markers: [String])] = []

    /// Whether there is nothing to commit.
    var isEmpty: Bool {
        devices.isEmpty && numbers.isEmpty && rejected.isEmpty && states.isEmpty && clocks.isEmpty
            && deliveries.isEmpty && acknowledged.isEmpty && deletions.isEmpty && sessions.isEmpty && markers.isEmpty
            && splits.isEmpty
    }
}
