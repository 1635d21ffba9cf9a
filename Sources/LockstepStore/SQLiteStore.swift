public import LockstepModel
import LockstepSQLite

/// A store in one SQLite file. One collector writes to it, and any number of readers can use it at the same time.
///
/// Each sample is one row. The comments in the schema explain the tables: see `.schema` in the `sqlite3` shell, and the
/// views `v_…`.
public final class SQLiteStore: SampleStore {
    /// The options for opening a store.
    public struct Options: Sendable {
        /// Whether each commit waits until the data is on the disk. If not, a power failure may lose the commits of the
        /// last few seconds but does not damage the store. A killed process loses nothing in either case.
        public var survivesPowerLoss = true
        /// The maximum number of rejected messages to keep. The oldest are deleted first.
        public var rejectedLimit = 10_000
        /// The approximate maximum number of conflicting samples to keep. Further conflicts are only counted.
        public var conflictLimit = 100_000
        /// The maximum time to wait for another program's lock, in milliseconds.
        public var busyTimeout: Int32 = 5000
        /// The maximum size of the page cache, in KiB. A larger cache is not faster: for files smaller than 1 GiB, SQLite
        /// 3.40 visits every cached page in a commit that follows the split of a page inside a table.
        public var cacheSize = 16_384

        /// Creates the default options.
        public init() {}
    }

    /// The length of the write-ahead log, in pages, after which a checkpoint is needed: 16 MB. A page that changes several
    /// times before the checkpoint is copied once.
    private static let checkpointLogPages = 4000

    let path: String
    let database: SQLiteDatabase
    /// The lock that keeps other collectors out. It is held as long as the store is open.
    private let lock: FileLock
    private let tables: [SampleTable]
    private let tableNumbers: [SensorStream: Int]
    private var devices: DeviceTable
    private var received: RangeLedger
    private var dropped: RangeLedger
    private var conflicts: ConflictTable
    private let lifecycle: LifecycleTable
    private let rejected: RejectedTable
    /// The changes of the current transaction, by device id.
    private var changes: [Int64: DeviceChanges] = [:]
    /// The epochs whose batch numbers are part of the current transaction, with the id of their device.
    private var touched: [DeviceEpoch: Int64] = [:]

    /// Opens the store at `path` for writing, and creates it if it does not exist.
    ///
    /// Each stream of `catalog` gets a table and a view. The store keeps the definitions of declared streams, so that
    /// readers do not need them.
    /// - Throws: ``StoreError`` if another collector uses the store, its folder is missing or not writable, the file is
    ///   not a store, a newer program wrote it, or a declared stream differs from the one in the store.
    public convenience init(
        path: String, options: Options = Options(), catalog: StreamCatalog = .builtIn
    ) throws(StoreError) {
        try self.init(path: path, options: options, streams: catalog.streams)
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

    /// Adds a group to the current transaction.
    ///
    /// Samples are inserted immediately. Device rows and batch numbers are written by ``commit()``, once for all groups.
    /// - Throws: ``StoreError``
    public func add(_ group: IngestGroup) throws(StoreError) {
        do {
            if !database.isInTransaction { try database.execute("BEGIN IMMEDIATE") }
            try insert(group)
        } catch {
            throw rolledBack(error)
        }
    }

    /// Commits all groups that were added since the last commit.
    /// - Throws: ``StoreError``
    public func commit() throws(StoreError) -> IngestResult {
        guard database.isInTransaction else {
            guard changes.isEmpty, touched.isEmpty else {
                throw rolledBack(StoreError(.other, "SQLite has rolled back a transaction on \(path)"))
            }
            return IngestResult()
        }
        do {
            for (device, changes) in changes { try devices.write(changes, of: device) }
            try received.flush()
            try dropped.flush()
            let result = try result()
            try database.execute("COMMIT")
            devices.commit()
            received.commit()
            dropped.commit()
            changes.removeAll(keepingCapacity: true)
            touched.removeAll(keepingCapacity: true)
            return result
        } catch {
            throw rolledBack(error)
        }
    }

    /// Whether the write-ahead log is long enough for a checkpoint.
    public var needsMaintenance: Bool { database.logPages >= Self.checkpointLogPages }

    /// Copies the write-ahead log into the database (checkpoint). This waits for the disk.
    public func performMaintenance() {
        // After a failure the log keeps growing. If the disk is full, the next commit reports it.
        _ = try? database.checkpoint()
    }

    /// Returns the life-cycle snapshot of every device, for the start of a collector.
    /// - Throws: ``StoreError``
    public func lifecycles() throws(StoreError) -> [DeviceAddress: LifecycleSnapshot] {
        do { return try lifecycle.read() } catch { throw StoreError(error, path: path) }
    }

    private func rolledBack(_ error: any Error) -> StoreError {
        rollBack()
        return StoreError(error, path: path)
    }

    /// Discards all groups that were added since the last commit.
    package func rollBack() {
        // SQLite may already have rolled back, for example on a full disk. If the rollback fails, closing rolls back.
        if database.isInTransaction { try? database.execute("ROLLBACK") }
        devices.rollback()
        received.rollback()
        dropped.rollback()
        conflicts.rollback()
        changes.removeAll(keepingCapacity: true)
        touched.removeAll(keepingCapacity: true)
    }

    private func insert(_ group: IngestGroup) throws {
        var runs = try resolve(group.runs)
        // Sorting by table and device keeps their pages in the cache. Runs of one device and stream keep their order.
        runs.sort { ($0.table, $0.device, $0.index) < ($1.table, $1.device, $1.index) }
        for place in runs {
            let run = group.runs[place.index]
            let counts = try tables[place.table].write(run, device: place.device, in: database, conflicts: &conflicts)
            changes[place.device, default: DeviceChanges(run.device)].add(run, counts)
        }
        for (device, time) in group.seen {
            try changes[devices.id(of: device, in: database), default: DeviceChanges(device)].see(at: time)
        }
        for change in group.transitions {
            try lifecycle.write(change.transition, of: devices.id(of: change.device, in: database))
        }
        for (device, snapshot) in group.lifecycles {
            try changes[devices.id(of: device, in: database), default: DeviceChanges(device)].snapshot = snapshot
        }
        try insertNumbers(of: group, runs)
        try rejected.write(group.rejected)
    }

    /// A run of a group with the indexes of its table and device.
    private struct ResolvedRun {
        /// The index in `tables`.
        let table: Int
        /// The device id.
        let device: Int64
        /// The index of the run in its group.
        let index: Int
    }

    private func resolve(_ runs: [SampleRun]) throws -> [ResolvedRun] {
        try runs.enumerated().map { index, run in
            guard let table = tableNumbers[run.samples.stream] else {
                throw StoreError(.other, "the store \(path) has no table for the stream \(run.samples.stream)")
            }
            return ResolvedRun(table: table, device: try devices.id(of: run.device, in: database), index: index)
        }
    }

    private func insertNumbers(of group: IngestGroup, _ runs: [ResolvedRun]) throws(SQLiteError) {
        // All streams of a device share one sequence of numbers. Collecting them first gives contiguous ranges.
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
        for number in batches.sorted() where RangeLedger.validNumbers.contains(number) {
            if let last = ranges.last, number <= last.upperBound + 1 {
                ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, number)
            } else {
                ranges.append(number...number)
            }
        }
        try received.insert(ranges, of: key, device: device)
    }

    /// Returns the combined result of all groups in the transaction.
    private func result() throws(SQLiteError) -> IngestResult {
        var result = IngestResult()
        for changes in changes.values { result.devices[changes.device] = changes.counts }
        for (key, device) in touched {
            result.received[key] = try received.numbers(of: key, device: device)
                .union(dropped.numbers(of: key, device: device))
        }
        return result
    }
}
