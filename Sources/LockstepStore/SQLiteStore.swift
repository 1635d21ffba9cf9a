public import LockstepModel
import LockstepSQLite

/// A store in one SQLite file. One collector writes to it, and any number of readers can use it at the same time.
///
/// Each sample is one row. Comments in the schema explain the tables: run `.schema` in the `sqlite3` shell.
///
/// What is where. Samples of a stream are in `_STREAM`, keyed by (device, time), and lately received ones in `_waiting`,
/// which is only appended to. The view `STREAM` has both. A sample is in one of them, never in both, for everyone who
/// ignores the rows of `_waiting` that `_merge` hides:
///
/// - New samples of a run, all of one epoch, that fill pages go straight to `_STREAM`, with a row in `_waiting` that has their
///   batch numbers and no samples.
/// - Fewer are a row of `_waiting`, with the samples as JSON.
/// - A merge freezes the rows up to n = `upto`, and moves the samples of one device after the other. Each of its
///   transactions writes samples to their tables, and raises `device_done` in `_merge`, which hides the rows of these
///   devices in `_waiting`. At the end the rows are deleted and the mark is reset, in one transaction. A merge that was
///   killed is continued from the mark.
/// - `n` is never used again, so that a reader knows which rows it has seen.
/// - While no samples of a stream wait, its view is a SELECT of the table alone, which costs a query nothing. The commit that
///   appends the first waiting samples of a stream changes the view, and the end of a merge changes it back if the whole
///   merge had none of the stream. So does a clean stop.
///
/// Counters of `_devices` (samples, times of messages), ranges in `_batches` and estimates in `_clocks` wait in the same
/// rows, so that a commit does not rewrite a page for each device. The views `devices`, `batches` and `clocks` have both.
///
/// Samples leave by the rules of ``Retention``, because the store is too large, or because a person has deleted them: from their
/// tables, in transactions of their own between the commits (``Removal``). Each of the first two kinds raises `from_t` in `expired`
/// over what it deletes; a deletion is in `deletions` before its first row leaves. So whenever the store is killed, all samples of a
/// series in its table are from `from_t` on or held, and ``RemovedTimes`` tells of any sample that arrives or is merged later whether
/// it counts as expired, as deleted, or is stored. Batch numbers stay.
///
/// What is durable when. Everything that ``add(_:)`` receives is in one transaction until ``commit()`` returns, which waits for
/// the disk. Merges and deletions do not wait: merges only move what is durable, and the next commit syncs them. A checkpoint syncs the
/// write-ahead log before it copies it.
///
/// Who may write. One process, which holds the locks of the file. What it knows of the tables in memory (ids of devices, batch
/// numbers, newest times, ``waiting``) is changed by a transaction and reverted by ``rollBack()``. `lockstep refine` and
/// `lockstep hold` write their own tables beside it. Everyone may read.
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
        /// What leaves the store, and when.
        public var retention = Retention()
        /// Whether this is the collector of the store, whose rules count from now on. Other programs, such as `lockstep delete`, keep
        /// all samples, and what they merge keeps its summaries by the rules of the last collector.
        public var isCollector = true
        /// The limits of maintenance.
        var limits = MergeLimits()
        /// Returns the time since boot in µs. Tests replace it.
        package var bootTime: @Sendable () -> Int64 = { Moment.now().boot }

        /// Creates the default options.
        public init() {}
    }

    /// The file of the store.
    public var location: StoreLocation? { StoreLocation(file: path) }

    let path: String
    private let lock: FileLock
    let database: SQLiteDatabase
    /// The files of the store, to notice that they were removed or replaced.
    private var files: StoreFiles
    /// Whether one of the files was missing or replaced at the last check.
    var hasLostFiles = false
    /// The deliveries of a commit after which the files were lost. The next one returns them.
    private var unreturnedDeliveries: [EventDelivery] = []
    var tables: [SampleTable]
    /// The index in `tables` of the table of each stream, by the name of the stream.
    let tableIndexes: [String: Int]
    /// The index in `tables` by the numbers that the writer has given to streams.
    var numberedTables = NumberMap<Int>()
    var devices: DeviceTable
    var scopes = ScopeTable()
    var received: RangeLedger
    var dropped: RangeLedger
    var reports: EpochReportTable
    /// The devices that this process has just added.
    var recent: RecentDevices
    var conflicts: ConflictTable
    let lifecycle: LifecycleTable
    let rejected: RejectedTable
    let clocks: ClockTable
    let events: EventTable
    /// What people have deleted.
    var deletions: DeletionTable
    /// Evaluates new rows, or nil if nothing does.
    var observer: (any IngestObserver)?
    /// Whether the observer watches the table with this index.
    var observed: [Bool] = []
    /// The acknowledgements of events in the current transaction.
    var acknowledged: [StoredAcknowledgement] = []
    /// What was received lately and is not in the tables yet.
    var waiting: WaitingTable
    /// The merge of the frozen rows of ``waiting``, if there is one.
    var merge: WaitingMerge?
    /// The limits of maintenance.
    let limits: MergeLimits
    /// What leaves the store.
    var retention: RetentionState
    /// The summaries that are made, and the function that makes them.
    var summaries: SummaryRound
    let sums: ColumnSums
    /// Whether a reader has kept the last checkpoint from being complete.
    var isLogPinned = false
    /// The times of the newest evidence for the states of devices, in µs since 1970, by device id. A merge writes them.
    var evidence = NumberMap<Int64>()
    /// The changes of the current transaction.
    var changes = ChangeSet()
    /// The scopes with received or dropped batches in the current transaction.
    var changedScopes: [Scope] = []
    /// Whether a scope, by its number, is in `changedScopes`.
    var isChangedScope = NumberMap<Bool>()
    /// The length of the write-ahead log, in pages, from which a checkpoint is tried. The log starts again with the commit
    /// that follows a complete checkpoint, unless a reader uses it at that moment. Then it grows to the next length.
    var nextCheckpoint: Int
    /// The size of a page, in bytes.
    let pageSize: Int
    /// Whether the disk has so little room that the log must be written to the file early.
    var isRoomScarce = false
    /// Whether a slice of a merge has failed since the last commit, for example because the disk is full.
    var hasMergeFailed = false
    /// The error of the last slice of a merge, or nil if it succeeded.
    var mergeError: (any Error)?
    /// Whether a transaction waits for the disk, and whether a slice of a merge has turned that off.
    let survivesPowerLoss: Bool
    var isSyncLowered = false

    /// Opens the store at `path` for writing, and creates it if it does not exist.
    ///
    /// Each stream of `catalog` gets a table and a view with its first sample. The store keeps the definitions of declared streams, so that
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
            limits = options.limits
            survivesPowerLoss = options.survivesPowerLoss
            recent = RecentDevices(now: options.bootTime)
            // They prevent other collectors from opening the store.
            lock = try FileLock(path: path)
            let databaseLock = try DatabaseLock(path: path)
            database = try openForWriting(path, lock, options, streams)
            database.lock = databaseLock
            pageSize = Int(try database.integer("PRAGMA page_size"))
            nextCheckpoint = Self.pages(options.limits.checkpointPages, of: pageSize)
            var tables: [SampleTable] = []
            var indexes: [String: Int] = [:]
            for stream in streams {
                indexes[stream.name] = tables.count
                tables.append(try SampleTable(stream, in: database))
            }
            self.tables = tables
            observed = tables.map { _ in false }
            tableIndexes = indexes
            devices = try DeviceTable(in: database)
            received = try RangeLedger(table: "_batches", in: database)
            dropped = try RangeLedger(table: "dropped", in: database)
            reports = try EpochReportTable(in: database)
            conflicts = try ConflictTable(limit: options.conflictLimit, in: database)
            lifecycle = try LifecycleTable(in: database)
            rejected = try RejectedTable(limit: options.rejectedLimit, in: database)
            clocks = try ClockTable(in: database)
            events = try EventTable(in: database)
            deletions = try DeletionTable(in: database)
            waiting = try WaitingTable(in: database)
            retention = RetentionState(
                options.retention,
                summaryRules: try SummaryRuleTable.rules(options, streams.map(\.name), in: database))
            summaries = SummaryRound(due: .now + options.limits.summaryInterval)
            sums = try ColumnSums(in: database)
            files = try StoreFiles(path: path)
            try recover()
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Adds a group to the current transaction.
    ///
    /// Samples and batch numbers are inserted immediately. ``commit()`` writes device rows, once for all groups.
    /// - Throws: ``StoreError``. All groups added since the last commit are then discarded.
    public func add(_ group: IngestGroup) throws(StoreError) {
        do {
            if !database.isInTransaction {
                try keepPace()
                keepRemovalPace()
                try restoreSync()
                try database.execute("BEGIN IMMEDIATE")
            }
            try insert(group)
        } catch {
            throw rolledBack(error)
        }
    }

    /// Commits all groups that were added since the last commit.
    /// - Throws: ``StoreError``. The groups are then discarded.
    public func commit() throws(StoreError) -> IngestResult {
        guard database.isInTransaction else {
            guard changes.isEmpty, changedScopes.isEmpty else {
                throw rolledBack(
                    StoreError(.other, "SQLite rolled back a transaction on \(path): write its data again"))
            }
            return IngestResult()
        }
        let committed: IngestResult
        do {
            // Otherwise each attempt would write the same data again.
            if hasLostFiles { try checkFiles() }
            for changes in changes.devices { try write(changes) }
            try dropped.flush()
            var result = try result()
            result.deliveries = unreturnedDeliveries + (try writeOutcome())
            try devices.writeRest()
            try checkRoom()
            result.acknowledged = acknowledged
            try database.execute("COMMIT")
            observer?.didCommit()
            didChangeLogLength()
            hasMergeFailed = false
            devices.commit()
            received.commit()
            dropped.commit()
            reports.commit()
            deletions.commit()
            waiting.commit()
            for index in tables.indices { tables[index].commit() }
            startMergeIfDue()
            didStore(result)
            endTransaction()
            committed = result
        } catch {
            throw rolledBack(error)
        }
        // After the commit, so that no file can be removed between this and the commit. What was written is not
        // acknowledged.
        unreturnedDeliveries = committed.deliveries
        try checkFiles()
        unreturnedDeliveries = []
        return committed
    }

    /// Checks that the files of the store are still those at its path.
    /// - Throws: ``StoreError`` with the code ``StoreError/Code/missing`` if not.
    private func checkFiles() throws(StoreError) {
        let loss = files.check { ((try? database.integer("PRAGMA page_count")) ?? 0) * Int64(pageSize) }
        let wasLost = hasLostFiles
        hasLostFiles = loss != nil
        guard let loss else { return }
        if !wasLost { completeLostFiles() }
        throw StoreError(.missing, loss.description)
    }

    /// Moves what is in the write-ahead log into the database, between two transactions: a log that was removed is lost
    /// with this process, a database that was moved lacks it, and a file at the path of the database must not meet it.
    func completeLostFiles() { _ = try? database.checkpoint(truncate: true) }

    /// Returns the life-cycle snapshot of every device. A collector restores them when it starts.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func lifecycles() throws(StoreError) -> [DeviceAddress: LifecycleSnapshot] {
        try DeviceRecord.read(SQLiteSource(database)).reduce(into: [:]) { $0[$1.address] = $1.lifecycle }
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
        observer?.didRollBack()
        // Another device can get the id of a device that was not stored.
        for device in devices.added {
            evidence[Int(device)] = nil
            recent.remove(device)
        }
        devices.rollBack()
        received.rollBack()
        dropped.rollBack()
        reports.rollBack()
        conflicts.forgetCount()
        deletions.rollBack()
        waiting.rollBack()
        for index in tables.indices { tables[index].rollBack() }
        endTransaction()
    }

    private func endTransaction() {
        changes.removeAll()
        retention.holds = nil
        acknowledged.removeAll()
        for scope in changedScopes { isChangedScope[scope.number] = nil }
        changedScopes.removeAll(keepingCapacity: true)
    }

    /// Adds the batch numbers of a scope to the result of the transaction.
    func markChanged(_ scope: Scope) {
        guard isChangedScope[scope.number] == nil else { return }
        if devices.added.contains(scope.device) { recent.add(scope.device) }
        if !recent.isEmpty { recent.add(scope.epoch, of: scope.device) }
        isChangedScope[scope.number] = true
        changedScopes.append(scope)
    }

    /// Records how many samples a transaction has stored while others are to leave.
    private func didStore(_ result: IngestResult) {
        let mustRemove = needsRemoval || waitsForMerge
        for (_, counts) in result.counts {
            if mustRemove { retention.owed += counts.stored }
            if counts.stored > 0 { retention.storedAt = .now }
            retention.late += counts.expired
        }
    }

    /// Returns the combined result of all groups in the transaction.
    private func result() throws(SQLiteError) -> IngestResult {
        var result = IngestResult()
        result.counts.reserveCapacity(changes.devices.count)
        for changes in changes.devices { result.counts.append((changes.device, changes.counts)) }
        result.scopes.reserveCapacity(changedScopes.count)
        for scope in changedScopes {
            let numbers = try received.numbers(of: scope).union(dropped.numbers(of: scope))
            result.scopes.append(
                IngestResult.Scope(key: scopes.keys[scope.number], number: scope.number, received: numbers))
        }
        return result
    }
}
