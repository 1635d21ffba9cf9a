public import LockstepModel
import LockstepSQLite

/// A store in one SQLite file, which one collector writes and anyone may read meanwhile.
///
/// A row is a sample. The schema explains itself in the `sqlite3` shell: `.schema`, and the views `v_…`.
public final class SQLiteStore: SampleStore {
    /// How a store is opened.
    public struct Options: Sendable {
        /// Whether each commit waits until the disk has it. Without, a power cut may take the last commits of a few
        /// seconds with it, though never the store; a killed process loses nothing either way.
        public var survivesPowerLoss = false
        /// How many rejected messages are kept.
        public var rejectedLimit = 10_000
        /// How many conflicting samples are kept, about: the first ones. What comes then is only counted.
        public var conflictLimit = 100_000
        /// How long to wait for another program's lock, in milliseconds.
        public var busyTimeout: Int32 = 5000
        /// Bound of the page cache, in KiB.
        public var cacheSize = 65_536

        public init() {}
    }

    let path: String
    let database: SQLiteDatabase
    /// Held as long as the store is open.
    private let lock: FileLock
    private let tables: [SampleTable]
    private let tableNumbers: [SensorStream: Int]
    private var devices: DeviceTable
    private var received: RangeLedger
    private var dropped: RangeLedger
    private var conflicts: ConflictTable
    private let lifecycle: LifecycleTable
    private let rejected: RejectedTable

    /// Opens the store at `path` for writing, and makes it where there is none.
    /// - Throws: ``StoreError``: another collector has it, its folder is missing or forbidden, it isn't a store, or a
    ///   newer program wrote it.
    public convenience init(path: String, options: Options = Options()) throws(StoreError) {
        try self.init(path: path, options: options, streams: SensorStream.all)
    }

    init(path: String, options: Options, streams: [SensorStream]) throws(StoreError) {
        do {
            try checkFolder(of: path)
            self.path = path
            lock = try FileLock(path: path)
            database = try openForWriting(path, options, streams)
            var tables: [SampleTable] = []
            var numbers: [SensorStream: Int] = [:]
            for stream in streams {
                guard let table = try SampleTable(stream, in: database) else { continue }
                numbers[stream] = tables.count
                tables.append(table)
            }
            self.tables = tables
            tableNumbers = numbers
            devices = try DeviceTable(in: database)
            received = try RangeLedger(table: "batches", in: database)
            dropped = try RangeLedger(table: "dropped", in: database)
            conflicts = try ConflictTable(limit: options.conflictLimit, in: database)
            lifecycle = try LifecycleTable(in: database)
            rejected = try RejectedTable(limit: options.rejectedLimit, in: database)
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Writes everything of the group in one transaction: all or nothing.
    /// - Throws: ``StoreError``; the group may be written again.
    public func write(_ group: IngestGroup) throws(StoreError) -> IngestResult {
        do {
            let result = try database.transaction { try writeParts(of: group) }
            devices.commit()
            received.commit()
            dropped.commit()
            return result
        } catch {
            devices.rollback()
            received.rollback()
            dropped.rollback()
            conflicts.rollback()
            throw StoreError(error, path: path)
        }
    }

    /// What is known of every device, for a collector that starts.
    /// - Throws: ``StoreError``
    public func lifecycles() throws(StoreError) -> [DeviceAddress: LifecycleSnapshot] {
        do { return try lifecycle.read() } catch { throw StoreError(error, path: path) }
    }

    private func writeParts(of group: IngestGroup) throws -> IngestResult {
        let batches = try placed(group.batches)
        var news: [Int64: DeviceNews] = [:]
        var result = IngestResult()
        for batch in batches.sorted(by: { ($0.table, $0.device, $0.index) < ($1.table, $1.device, $1.index) }) {
            let received = group.batches[batch.index]
            let counts = try tables[batch.table].write(
                received, device: batch.device, in: database, conflicts: &conflicts)
            news[batch.device, default: DeviceNews(received.device)].add(received, counts)
        }
        for brought in news.values { result.devices[brought.device] = brought.counts }
        for (device, time) in group.seen {
            try news[devices.id(of: device, in: database), default: DeviceNews(device)].see(at: time)
        }
        for (device, brought) in news { try devices.add(brought, to: device) }
        try writeNumbers(of: group, batches, into: &result)
        for change in group.transitions {
            try lifecycle.write(change.transition, of: devices.id(of: change.device, in: database))
        }
        for (device, snapshot) in group.lifecycles {
            try lifecycle.write(snapshot, of: devices.id(of: device, in: database))
        }
        try rejected.write(group.rejected)
        return result
    }

    /// Where a batch of a group belongs. In the order of table and device neighbours find their pages in the cache; of
    /// one device and stream the first comes first.
    private struct PlacedBatch {
        let table: Int
        let device: Int64
        let index: Int
    }

    private func placed(_ batches: [ReceivedBatch]) throws -> [PlacedBatch] {
        try batches.enumerated().map { index, received in
            let stream = received.batch.samples.stream
            guard let table = tableNumbers[stream] else {
                throw StoreError(.other, "\(path) has no table for the stream \(stream)")
            }
            return PlacedBatch(table: table, device: try devices.id(of: received.device, in: database), index: index)
        }
    }

    private func writeNumbers(
        of group: IngestGroup, _ batches: [PlacedBatch], into result: inout IngestResult
    ) throws(SQLiteError) {
        var touched: [DeviceEpoch: Int64] = [:]
        // The batches of one device and epoch together: to look an epoch up costs more than to add a number to it.
        var run: (key: DeviceEpoch, device: Int64, numbers: SequenceSet)?
        for batch in batches.sorted(by: { ($0.device, $0.index) < ($1.device, $1.index) }) {
            let entry = group.batches[batch.index]
            guard let position = entry.batch.position else { continue }
            if let present = run, present.device != batch.device || present.key.epoch != position.epoch {
                try received.insert(present.numbers.ranges, of: present.key, device: present.device)
                run = nil
            }
            if run == nil {
                let key = DeviceEpoch(device: entry.device, epoch: position.epoch)
                touched[key] = batch.device
                run = (key, batch.device, SequenceSet())
            }
            if RangeLedger.possible.contains(position.seq) { run?.numbers.insert(position.seq) }
        }
        if let run { try received.insert(run.numbers.ranges, of: run.key, device: run.device) }
        for entry in group.dropped {
            let key = DeviceEpoch(device: entry.device, epoch: entry.epoch)
            let device = try devices.id(of: entry.device, in: database)
            try dropped.insert(entry.ranges.ranges, of: key, device: device)
            touched[key] = device
        }
        try received.flush()
        try dropped.flush()
        for (key, device) in touched {
            result.received[key] = try received.numbers(of: key, device: device)
                .union(dropped.numbers(of: key, device: device))
        }
    }
}
