public import LockstepModel
import LockstepSQLite

/// A store in one SQLite file. One collector writes to it, and any number of readers can use it at the same time.
///
/// Each sample is one row. Comments in the schema explain the tables: run `.schema` in the `sqlite3` shell. The views
/// `v_…` are human-readable.
public final class SQLiteStore: SampleStore {
    /// The options for opening a store.
    public struct Options: Sendable {
        /// Whether each commit waits until the data is on the disk. If false, a power failure may lose the commits of
        /// the last few seconds, but does not damage the store. If only the process is killed, committed data is never
        /// lost.
        public var survivesPowerLoss = true
        /// The maximum number of rejected messages to keep. The oldest are deleted first.
        public var rejectedLimit = 10_000
        /// The maximum number of conflicting samples to keep. Further conflicts are only counted.
        public var conflictLimit = 100_000
        /// The maximum time to wait for another program's lock, in milliseconds.
        public var busyTimeout: Int32 = 5000
        /// The maximum size of the page cache, in KiB. A larger cache can be slower: for files smaller than 1 GiB,
        /// SQLite 3.40 visits every cached page in a commit that follows a page split inside a table.
        public var cacheSize = 16_384

        /// Creates the default options.
        public init() {}
    }

    /// The length of the write-ahead log, in pages, at which a checkpoint is needed: 4000 pages are 16 MB. A long log
    /// saves copying: a page that changes several times before the checkpoint is copied once.
    private static let checkpointLogPages = 4000

    let path: String
    let database: SQLiteDatabase
    /// The lock that prevents other collectors from opening the store. It is held while the store is open.
    private let lock: FileLock
    var tables: [SampleTable]
    /// The index in `tables` of the table of each stream.
    private let tableIndexes: [SensorStream: Int]
    private var devices: DeviceTable
    private var epochs: EpochTable
    var received: RangeLedger
    private var dropped: RangeLedger
    private var conflicts: ConflictTable
    private let lifecycle: LifecycleTable
    private let rejected: RejectedTable
    /// The two logs. ``activeLog`` receives new rows.
    var logs: [LogNumber: LogWriter]
    var activeLog = LogNumber.first
    /// The time at which the active log was chosen.
    var logStart = ContinuousClock.now
    /// The merge of the other log, if it is not empty.
    var merge: LogMerge?
    /// The times of the newest evidence for the states of devices, in µs since 1970, by device id. A merge writes them.
    var evidence: [Int64: Int64] = [:]
    var placement = RowPlacement()
    /// The changes of the current transaction, by device id.
    private var changes: [Int64: DeviceChanges] = [:]
    /// The epochs with received or dropped batches in the current transaction, with the ids of their devices.
    private var changedEpochs: [DeviceEpoch: Int64] = [:]
    /// Whether a checkpoint was tried since the last commit. The length of the log is only updated by the next commit.
    var hasTriedCheckpoint = false
    /// Whether a slice of a merge has failed since the last commit, for example because the disk is full.
    var hasMergeFailed = false

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
            var indexes: [SensorStream: Int] = [:]
            for stream in streams {
                guard let table = try SampleTable(stream, in: database) else { continue }
                indexes[stream] = tables.count
                tables.append(table)
            }
            self.tables = tables
            tableIndexes = indexes
            devices = try DeviceTable(in: database)
            epochs = try EpochTable(in: database)
            received = try RangeLedger(table: "merged_batches", in: database)
            dropped = try RangeLedger(table: "dropped", in: database)
            conflicts = try ConflictTable(limit: options.conflictLimit, in: database)
            lifecycle = try LifecycleTable(in: database)
            rejected = try RejectedTable(limit: options.rejectedLimit, in: database)
            logs = [:]
            for log in LogNumber.allCases { logs[log] = try LogWriter(log, in: database) }
            try recoverLogs()
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Adds a group to the current transaction.
    ///
    /// Samples are inserted immediately. ``commit()`` writes device rows and batch numbers, once for all groups.
    /// - Throws: ``StoreError``. All groups added since the last commit are then discarded.
    public func add(_ group: IngestGroup) throws(StoreError) {
        do {
            if !database.isInTransaction {
                try makeRoom()
                try database.execute("BEGIN IMMEDIATE")
            }
            placement.beginPart()
            try insert(group)
        } catch {
            throw rolledBack(error)
        }
    }

    /// Commits all groups that were added since the last commit.
    /// - Throws: ``StoreError``. The groups are then discarded.
    public func commit() throws(StoreError) -> IngestResult {
        guard database.isInTransaction else {
            guard changes.isEmpty, changedEpochs.isEmpty else {
                throw rolledBack(
                    StoreError(.other, "SQLite rolled back a transaction on \(path): write its data again"))
            }
            return IngestResult()
        }
        do {
            for (device, changes) in changes { try write(changes, of: device) }
            try dropped.flush()
            let result = try result()
            try database.execute("COMMIT")
            hasTriedCheckpoint = false
            hasMergeFailed = false
            devices.commit()
            epochs.commit()
            received.commit()
            dropped.commit()
            for log in LogNumber.allCases { logs[log]?.commit() }
            for index in tables.indices { tables[index].commit() }
            placement.commit()
            switchLogsIfFull()
            changes.removeAll(keepingCapacity: true)
            changedEpochs.removeAll(keepingCapacity: true)
            return result
        } catch {
            throw rolledBack(error)
        }
    }

    /// Returns the life-cycle snapshot of every device. A collector restores them when it starts.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func lifecycles() throws(StoreError) -> [DeviceAddress: LifecycleSnapshot] {
        do { return try lifecycle.read() } catch { throw StoreError(error, path: path) }
    }

    /// Rolls back and returns `error` as a ``StoreError``.
    private func rolledBack(_ error: any Error) -> StoreError {
        rollBack()
        return StoreError(error, path: path)
    }

    /// Discards all groups that were added since the last commit.
    package func rollBack() {
        // SQLite may already have rolled back, for example on a full disk. If this rollback fails, closing the
        // connection rolls back.
        if database.isInTransaction { try? database.execute("ROLLBACK") }
        // Another device can get the id of a device that was not stored.
        for device in devices.added { evidence[device] = nil }
        devices.rollBack()
        epochs.rollBack()
        received.rollBack()
        dropped.rollBack()
        conflicts.rollBack()
        for log in LogNumber.allCases { logs[log]?.rollBack() }
        for index in tables.indices { tables[index].rollBack() }
        placement.rollBack()
        changes.removeAll(keepingCapacity: true)
        changedEpochs.removeAll(keepingCapacity: true)
    }

    private func insert(_ group: IngestGroup) throws {
        var runs = try resolve(group.runs)
        // Sort by table and device, which improves the hit rate of the page cache. Runs of one device and stream keep
        // their order.
        runs.sort { ($0.table, $0.device, $0.index) < ($1.table, $1.device, $1.index) }
        for resolved in runs {
            let run = group.runs[resolved.index]
            changes[resolved.device, default: DeviceChanges(run.device)].add(run)
            let counts = try write(run, table: resolved.table, device: resolved.device)
            changes[resolved.device]?.counts += counts
        }
        for (device, time) in group.seen {
            let id = try devices.id(of: device, in: database)
            changes[id, default: DeviceChanges(device)].recordMessage(at: time)
            changes[id]?.ledger.recordMessage(at: time.microseconds)
        }
        for entry in group.transitions {
            try lifecycle.write(entry.transition, of: devices.id(of: entry.device, in: database))
        }
        for (device, snapshot) in group.lifecycles {
            let id = try devices.id(of: device, in: database)
            evidence[id] = snapshot.evidenceTime?.microseconds
            guard group.changedLifecycles.contains(device) else { continue }
            changes[id, default: DeviceChanges(device)].snapshot = snapshot
        }
        try insertBatchNumbers(of: group, runs)
        try rejected.write(group.rejected)
    }

    /// Writes a run to its table, or appends it to the log.
    private func write(_ run: SampleRun, table: Int, device: Int64) throws(SQLiteError) -> IngestResult.Counts {
        placement.add(run, device: device)
        let target = tables[table].logTarget
        let isDirect = placement.isDirect(run, rowsInLog: logs[activeLog]?.index.devices[device]?.rows ?? 0)
        // Nothing is appended for a run without samples, but its batches are recorded.
        let isEmpty = run.samples.isEmpty
        if target == nil || isEmpty || (isDirect && !logsMayContain(run.samples.times, of: table, device: device)) {
            return try writeDirectly(run, table: table, device: device)
        }
        guard let target else { return IngestResult.Counts() }
        return try append(run, to: target, table: table, device: device)
    }

    private func writeDirectly(
        _ run: SampleRun, table: Int, device: Int64
    ) throws(SQLiteError) -> IngestResult.Counts {
        let counts = try tables[table].write(run, device: device, in: database, conflicts: &conflicts)
        changes[device]?.ledger.recordAll(run, counts)
        return counts
    }

    /// Appends the new samples of a run to the log, and writes samples that are stored with different values to
    /// `conflicts`.
    private func append(
        _ run: SampleRun, to target: LogTarget, table: Int, device: Int64
    ) throws(SQLiteError) -> IngestResult.Counts {
        var counts = IngestResult.Counts()
        var batch = 0
        for piece in run.increasingPieces {
            let times = run.samples.times[piece]
            var new: [Int] = Array(piece)
            if let stored = try storedRows(times, of: table, device: device) {
                new = []
                for index in piece {
                    guard let values = stored[run.samples.times[index]] else {
                        new.append(index)
                        continue
                    }
                    if !run.samples.stream.isEqual(index, of: run.samples, to: values),
                        try conflicts.write(index, of: run, stored: values, device: device, in: database)
                    {
                        counts.conflicts += 1
                    } else {
                        counts.duplicates += 1
                    }
                }
            }
            counts.stored += new.count
            let marks = try marks(new, of: run, piece: piece, from: &batch, device: device)
            try logs[activeLog]?.append(
                new, of: run.samples, to: target, table: table, device: device, marks: marks)
            logs[activeLog]?.updateIndex(of: device) { content in
                content.figures.samples += Int64(new.count)
                for index in new { content.figures.recordSample(at: run.samples.times[index]) }
                for mark in marks { content.figures.recordMessage(at: mark.receivedAt) }
            }
        }
        changes[device]?.ledger.duplicates += Int64(counts.duplicates)
        changes[device]?.ledger.conflicts += Int64(counts.conflicts)
        return counts
    }

    /// Returns the first new sample of each batch in a piece of a run. The ledger gets batches without new samples.
    /// - Parameter batch: the index of the first batch that is not marked yet.
    private func marks(
        _ new: [Int], of run: SampleRun, piece: Range<Int>, from batch: inout Int, device: Int64
    ) throws(SQLiteError) -> [LogMark] {
        var marks: [LogMark] = []
        var rest = new[...]
        while batch < run.batches.count, run.batches[batch].end <= piece.upperBound {
            let info = run.batches[batch]
            batch += 1
            let receivedAt = info.receivedAt.microseconds
            let first = rest.first
            rest = rest.drop { $0 < info.end }
            let position = info.validPosition
            let key = position.map { DeviceEpoch(device: run.device, epoch: $0.epoch) }
            if let first, first < info.end {
                let epoch = try key.map { key throws(SQLiteError) in
                    try epochs.id(of: key, device: device, in: database)
                }
                marks.append(LogMark(index: first, epoch: epoch, seq: position?.seq, receivedAt: receivedAt))
                if let key { logs[activeLog]?.updateIndex(of: device) { $0.add(key) } }
            } else {
                changes[device]?.ledger.recordMessage(at: receivedAt)
                if let key, let seq = position?.seq { changes[device]?.ledger.insert(seq, of: key) }
            }
        }
        return marks
    }

    /// Writes the changes that the current transaction made to a device.
    private func write(_ changes: DeviceChanges, of device: Int64) throws(SQLiteError) {
        if devices.added.contains(device), let time = changes.firstSeen {
            try devices.setFirstSeen(time, of: device)
        }
        if let snapshot = changes.snapshot { try devices.write(snapshot, of: device) }
        guard !changes.ledger.isEmpty else { return }
        var change: LedgerChange? = changes.ledger
        for (key, numbers) in changes.ledger.batches {
            let epoch = try epochs.id(of: key, device: device, in: database)
            for range in numbers.ranges {
                try logs[activeLog]?.append(change, epoch: epoch, batches: range, device: device)
                change = nil
            }
        }
        if change != nil { try logs[activeLog]?.append(change, epoch: 0, batches: nil, device: device) }
        logs[activeLog]?.updateIndex(of: device) { $0.add(changes.ledger) }
    }

    /// A run of a group with its table and the id of its device.
    private struct ResolvedRun {
        /// The index in `tables`.
        let table: Int
        /// The device id.
        let device: Int64
        /// The index of the run in its group.
        let index: Int
    }

    /// Returns the table index and device id of each run. New devices are inserted.
    private func resolve(_ runs: [SampleRun]) throws -> [ResolvedRun] {
        try runs.enumerated().map { index, run in
            guard let table = tableIndexes[run.samples.stream] else {
                throw StoreError(
                    .other,
                    "the store \(path) has no table for the stream \(run.samples.stream): open the store with this stream"
                )
            }
            return ResolvedRun(table: table, device: try devices.id(of: run.device, in: database), index: index)
        }
    }

    private func insertBatchNumbers(of group: IngestGroup, _ runs: [ResolvedRun]) throws(SQLiteError) {
        // All streams of a device share one sequence of batch numbers. Collecting the numbers first gives contiguous
        // ranges.
        var numbers: (key: DeviceEpoch, device: Int64, batches: [Int64])?
        for resolved in runs.sorted(by: { ($0.device, $0.index) < ($1.device, $1.index) }) {
            let run = group.runs[resolved.index]
            for batch in run.batches {
                guard let position = batch.position else { continue }
                if numbers?.device != resolved.device || numbers?.key.epoch != position.epoch {
                    if let numbers { try insert(numbers.batches, of: numbers.key, device: numbers.device) }
                    numbers = (DeviceEpoch(device: run.device, epoch: position.epoch), resolved.device, [])
                }
                numbers?.batches.append(position.seq)
            }
        }
        if let numbers { try insert(numbers.batches, of: numbers.key, device: numbers.device) }
        for entry in group.dropped {
            let key = DeviceEpoch(device: entry.device, epoch: entry.epoch)
            let device = try devices.id(of: entry.device, in: database)
            try dropped.insert(entry.ranges.ranges, of: key, device: device)
            changedEpochs[key] = device
        }
    }

    private func insert(_ batches: [Int64], of key: DeviceEpoch, device: Int64) throws(SQLiteError) {
        changedEpochs[key] = device
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
        for (key, device) in changedEpochs {
            result.received[key] = try received.numbers(of: key, device: device)
                .union(dropped.numbers(of: key, device: device))
        }
        return result
    }
}
