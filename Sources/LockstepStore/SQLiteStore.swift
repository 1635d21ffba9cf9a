public import LockstepModel
import LockstepSQLite

/// A store in one SQLite file, which one collector writes and anyone may read meanwhile.
///
/// A row is a sample. The schema explains itself in the `sqlite3` shell: `.schema`, and the views `v_…`.
public final class SQLiteStore: SampleStore {
    /// How a store is opened.
    public struct Options: Sendable {
        /// Whether each commit waits until it is on disk. If false, a power cut may lose the commits of the last seconds,
        /// but does not damage the store. A killed process loses nothing either way.
        public var survivesPowerLoss = true
        /// How many rejected messages are kept.
        public var rejectedLimit = 10_000
        /// How many conflicting samples are kept, about: the first ones. What comes then is only counted.
        public var conflictLimit = 100_000
        /// How long to wait for another program's lock, in milliseconds.
        public var busyTimeout: Int32 = 5000
        /// Bound of the page cache, in KiB. Larger is not faster: while the file is smaller than 1 GiB, SQLite 3.40 looks at
        /// every cached page in a commit that comes after a page in the midst of a table was split.
        public var cacheSize = 16_384

        public init() {}
    }

    /// Pages of the write-ahead log after which it is copied: 16 MB. A page that changes again and again until then is
    /// copied once.
    private static let longestLog = 4000

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
    /// What the transaction has brought of each device, by its number.
    private var news: [Int64: DeviceNews] = [:]
    /// Whose batch numbers the transaction was told, with the number of each device.
    private var touched: [DeviceEpoch: Int64] = [:]

    /// Opens the store at `path` for writing, and makes it where there is none.
    /// - Throws: ``StoreError``: another collector has it, its folder is missing or forbidden, it isn't a store, or a
    ///   newer program wrote it.
    public convenience init(path: String, options: Options = Options()) throws(StoreError) {
        try self.init(path: path, options: options, streams: SensorStream.builtIn)
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

    /// Takes a group in: its samples at once, into the transaction that ``commit()`` ends; what is kept of a device and of
    /// batch numbers then, once for all groups.
    /// - Throws: ``StoreError``
    public func add(_ group: IngestGroup) throws(StoreError) {
        do {
            if !database.isInTransaction { try database.execute("BEGIN IMMEDIATE") }
            try take(group)
        } catch {
            throw rolledBack(error)
        }
    }

    /// Writes what was taken in since the last commit.
    /// - Throws: ``StoreError``
    public func commit() throws(StoreError) -> IngestResult {
        guard database.isInTransaction else {
            guard news.isEmpty, touched.isEmpty else {
                throw rolledBack(StoreError(.other, "SQLite has ended a transaction on \(path) by itself"))
            }
            return IngestResult()
        }
        do {
            for (device, brought) in news { try devices.write(brought, of: device) }
            try received.flush()
            try dropped.flush()
            let result = try result()
            try database.execute("COMMIT")
            devices.commit()
            received.commit()
            dropped.commit()
            news.removeAll(keepingCapacity: true)
            touched.removeAll(keepingCapacity: true)
            return result
        } catch {
            throw rolledBack(error)
        }
    }

    /// Whether the write-ahead log is so long that it should be copied into the database.
    public var needsMaintenance: Bool { database.logPages >= Self.longestLog }

    /// Copies the write-ahead log into the database, which waits for the disk.
    public func performMaintenance() {
        // Where it fails the log goes on, and a full disk shows in the next commit.
        _ = try? database.checkpoint()
    }

    /// What is known of every device, for a collector that starts.
    /// - Throws: ``StoreError``
    public func lifecycles() throws(StoreError) -> [DeviceAddress: LifecycleSnapshot] {
        do { return try lifecycle.read() } catch { throw StoreError(error, path: path) }
    }

    private func rolledBack(_ error: any Error) -> StoreError {
        rollBack()
        return StoreError(error, path: path)
    }

    /// Forgets what was taken in since the last commit.
    package func rollBack() {
        // Where the disk was full SQLite may have rolled back itself. If this fails too, closing rolls back.
        if database.isInTransaction { try? database.execute("ROLLBACK") }
        devices.rollback()
        received.rollback()
        dropped.rollback()
        conflicts.rollback()
        news.removeAll(keepingCapacity: true)
        touched.removeAll(keepingCapacity: true)
    }

    private func take(_ group: IngestGroup) throws {
        var runs = try placed(group.runs)
        // In the order of table and device neighbours find their pages in the cache; of one device and stream the first
        // comes first.
        runs.sort { ($0.table, $0.device, $0.index) < ($1.table, $1.device, $1.index) }
        for place in runs {
            let run = group.runs[place.index]
            let counts = try tables[place.table].write(run, device: place.device, in: database, conflicts: &conflicts)
            news[place.device, default: DeviceNews(run.device)].add(run, counts)
        }
        for (device, time) in group.seen {
            try news[devices.id(of: device, in: database), default: DeviceNews(device)].see(at: time)
        }
        for change in group.transitions {
            try lifecycle.write(change.transition, of: devices.id(of: change.device, in: database))
        }
        for (device, snapshot) in group.lifecycles {
            try news[devices.id(of: device, in: database), default: DeviceNews(device)].snapshot = snapshot
        }
        try takeNumbers(of: group, runs)
        try rejected.write(group.rejected)
    }

    /// Where a run of a group belongs.
    private struct PlacedRun {
        let table: Int
        let device: Int64
        let index: Int
    }

    private func placed(_ runs: [SampleRun]) throws -> [PlacedRun] {
        try runs.enumerated().map { index, run in
            guard let table = tableNumbers[run.samples.stream] else {
                throw StoreError(.other, "\(path) has no table for the stream \(run.samples.stream)")
            }
            return PlacedRun(table: table, device: try devices.id(of: run.device, in: database), index: index)
        }
    }

    private func takeNumbers(of group: IngestGroup, _ runs: [PlacedRun]) throws(SQLiteError) {
        // Streams share the numbers of their device, so only together are they side by side.
        var numbers: (key: DeviceEpoch, device: Int64, batches: [Int64])?
        for place in runs.sorted(by: { ($0.device, $0.index) < ($1.device, $1.index) }) {
            let run = group.runs[place.index]
            for batch in run.batches {
                guard let position = batch.position else { continue }
                if numbers?.device != place.device || numbers?.key.epoch != position.epoch {
                    if let numbers { try insert(numbers.batches, of: numbers.key, device: numbers.device) }
                    numbers = (DeviceEpoch(device: run.device, epoch: position.epoch), place.device, [])
                }
                numbers?.batches.append(position.seq)
            }
        }
        if let numbers { try insert(numbers.batches, of: numbers.key, device: numbers.device) }
        for entry in group.dropped {
            let key = DeviceEpoch(device: entry.device, epoch: entry.epoch)
            let device = try devices.id(of: entry.device, in: database)
            try dropped.insert(entry.ranges.ranges, of: key, device: device)
            touched[key] = device
        }
    }

    private func insert(_ batches: [Int64], of key: DeviceEpoch, device: Int64) throws(SQLiteError) {
        touched[key] = device
        var ranges: [ClosedRange<Int64>] = []
        for number in batches.sorted() where RangeLedger.possible.contains(number) {
            if let last = ranges.last, number <= last.upperBound + 1 {
                ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, number)
            } else {
                ranges.append(number...number)
            }
        }
        try received.insert(ranges, of: key, device: device)
    }

    /// What became of all groups of the transaction.
    private func result() throws(SQLiteError) -> IngestResult {
        var result = IngestResult()
        for brought in news.values { result.devices[brought.device] = brought.counts }
        for (key, device) in touched {
            result.received[key] = try received.numbers(of: key, device: device)
                .union(dropped.numbers(of: key, device: device))
        }
        return result
    }
}
