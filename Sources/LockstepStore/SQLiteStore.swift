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
        var news: [DeviceAddress: DeviceNews] = [:]
        var result = IngestResult()
        for entry in try inTableOrder(group.batches) {
            let received = group.batches[entry.index]
            let counts = try tables[entry.table].write(
                received, device: entry.device, in: database, conflicts: &conflicts)
            news[received.device, default: DeviceNews()].add(received, counts)
            result.devices[received.device, default: IngestResult.Counts()] += counts
        }
        for (device, time) in group.seen { news[device, default: DeviceNews()].see(at: time) }
        for (device, brought) in news { try devices.add(brought, to: devices.id(of: device, in: database)) }
        try writeNumbers(of: group, into: &result)
        for change in group.transitions {
            try lifecycle.write(change.transition, of: devices.id(of: change.device, in: database))
        }
        for (device, snapshot) in group.lifecycles {
            try lifecycle.write(snapshot, of: devices.id(of: device, in: database))
        }
        try rejected.write(group.rejected)
        return result
    }

    /// The batches in the order of their rows in the database, so that neighbours find their pages in the cache. Of one
    /// device and stream the first comes first.
    private func inTableOrder(
        _ batches: [ReceivedBatch]
    ) throws -> [(table: Int, device: Int64, index: Int)] {
        try batches.enumerated().map { index, received in
            let stream = received.batch.samples.stream
            guard let table = tableNumbers[stream] else {
                throw StoreError(.other, "\(path) has no table for the stream \(stream)")
            }
            return (table, try devices.id(of: received.device, in: database), index)
        }.sorted { $0 < $1 }
    }

    private func writeNumbers(of group: IngestGroup, into result: inout IngestResult) throws(SQLiteError) {
        var touched: [DeviceEpoch: Int64] = [:]
        for batch in group.batches {
            guard let position = batch.batch.position else { continue }
            let key = DeviceEpoch(device: batch.device, epoch: position.epoch)
            let device = try devices.id(of: batch.device, in: database)
            try received.insert(CollectionOfOne(position.seq...position.seq), of: key, device: device)
            touched[key] = device
        }
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
