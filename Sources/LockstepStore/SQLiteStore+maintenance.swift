import LockstepModel
import LockstepSQLite

// Checkpoints, and merges of the logs.

extension SQLiteStore {
    /// The number of turns from which a log is merged. It is less than the maximum, so that the other log can be filled
    /// while this one is merged.
    private static let fullTurns = LogSchema.maxTurns - 1

    /// The time after which a log is merged, even if it is not full.
    private static let maxAge = Duration.seconds(600)

    /// Whether there is maintenance to do: a checkpoint or a merge.
    public var needsMaintenance: Bool { !hasLostFiles && (needsCheckpoint || (isMerging && !hasMergeFailed)) }

    /// Does one piece of maintenance: copies the write-ahead log into the database (checkpoint), or merges rows for a
    /// few milliseconds.
    public func performMaintenance() {
        // Ignore errors: the checkpoint is tried again when the log is longer, the merge after the next commit, and that
        // commit reports a full disk.
        // A reader with an old snapshot can prevent a complete checkpoint for hours. Merge nevertheless.
        if needsCheckpoint, checkpoint() { return }
        do { try mergeSlice() } catch { hasMergeFailed = true }
    }

    /// Whether a log or the runs are being merged.
    var isMerging: Bool { merge != nil || runMerge != nil }

    /// Merges the logs and runs unless they hold many rows, or rows of many devices. The store is not used afterwards.
    public func close() {
        guard !database.isInTransaction else { return }
        guard !hasLostFiles else { return completeLostFiles() }
        // If it fails, the rows stay in the log: the next collector merges them.
        let indexes = LogNumber.allCases.map { logs[$0].index }
        let rows = indexes.reduce(runs.rows) { $0 + $1.rows }
        // The same devices may be in several parts of the runs. Then less is merged than possible.
        let inRuns = runs.parts.reduce(0) { $0 + $1.devices }
        let devices = indexes.reduce(inRuns) { $0 + $1.deviceCount }
        if rows <= Self.maxRowsAtStop && devices <= Self.maxDevicesAtStop { try? mergeLogs() }
    }

    /// Merges all rows of the logs and runs.
    package func mergeLogs() throws {
        try finishMerge()
        if !logs[activeLog].isEmpty {
            try startMerge(of: activeLog)
            try finishMerge()
        }
        if !runs.isEmpty {
            try startRunMerge()
            try finishMerge()
        }
    }

    /// The maximum number of rows to merge at the stop. Merging more would delay the stop, and readers see all rows anyway.
    private static let maxRowsAtStop = 20_000
    /// The maximum number of devices to merge at the stop. A merge rewrites at least a page for each of them.
    private static let maxDevicesAtStop = 1000

    private var needsCheckpoint: Bool { database.logPages >= nextCheckpoint }

    /// Adapts the length of the next checkpoint to that of the write-ahead log after a transaction.
    func didChangeLogLength() {
        let pages = Self.pages(limits.checkpointPages, of: pageSize)
        if database.logPages < pages { nextCheckpoint = pages }
    }

    /// Returns the number of pages of a size that are as long as a number of pages of a new store.
    static func pages(_ count: Int, of size: Int) -> Int { max(1, count * StoreSchema.pageSize / size) }

    /// Copies the write-ahead log into the database as far as readers allow.
    /// - Returns: whether the whole log was copied.
    @discardableResult
    private func checkpoint() -> Bool {
        nextCheckpoint = database.logPages + Self.pages(limits.checkpointRetryPages, of: pageSize)
        return (try? database.checkpoint()) == true
    }

    /// Starts to merge the runs if they hold enough rows. Otherwise makes the other log active if the active one holds
    /// enough rows, and starts to merge it.
    func startMergeIfFull() {
        guard !isMerging else { return }
        // If it fails, the next commit tries again.
        let age = runsStart.map { ContinuousClock.now - $0 }
        if RunPlacement.isFull(runs, age: age ?? .zero) { return (try? startRunMerge()) ?? () }
        guard !logs[activeLog].isEmpty else { return }
        let index = logs[activeLog].index
        let isFull =
            index.rows >= Self.fullRows(devices: index.deviceCount) || logs[activeLog].lastTurn >= Self.fullTurns
        guard isFull || ContinuousClock.now - logStart >= Self.maxAge else { return }
        try? startMerge(of: activeLog)
    }

    /// Returns the number of rows from which a log is merged. A merge rewrites a page per device, so it needs many rows
    /// per device; but the time to merge one device, the time to read the log and the memory for the index are limited.
    static func fullRows(devices: Int) -> Int {
        let share = max(min(1000 * devices, 100_000), min(500 * devices, 500_000), 100 * devices)
        return min(max(20_000, share), 1_000_000, 4000 * devices)
    }

    /// Ensures that the active log accepts another turn. Merges the other log first if necessary.
    func makeRoom() throws {
        keepPace()
        guard logs[activeLog].lastTurn >= LogSchema.maxTurns else { return }
        try finishMerge()
        try startMerge(of: activeLog)
    }

    /// Merges in proportion to the rows that a full log has received since the start of the merge, but for a limited
    /// time. So the memory for its index is limited even if there is no time for maintenance between the commits.
    private func keepPace() {
        guard isMerging, !hasMergeFailed else { return }
        let index = logs[activeLog].index
        let fill = limits.fill(rows: index.rows, turns: logs[activeLog].lastTurn)
        let share = limits.paceShare(
            rows: index.rows, startRows: mergeStartRows, fullRows: Self.fullRows(devices: index.deviceCount), fill: fill
        )
        let duration = limits.paceDuration(fill: fill)
        let end = ContinuousClock.now + duration
        do {
            while isMerging, share >= 1 || mergeProgress < share {
                try mergeSlice(maxDuration: min(limits.slice, duration))
                if needsCheckpoint { checkpoint() }
                if fill < 1, ContinuousClock.now >= end { return }
            }
        } catch { hasMergeFailed = true }
    }

    private var mergeProgress: Double { merge?.progress ?? runMerge?.progress ?? 1 }

    func startMerge(of log: LogNumber) throws {
        let index = logs[log].index
        let run = index.deviceCount >= minDevicesForRuns && runs.lastRun < RunKey.maxRun ? runs.lastRun + 1 : nil
        merge = try LogMerge(log, index, into: tables, run: run, in: database)
        activeLog = log.other
        logStart = .now
        mergeStartRows = logs[activeLog].index.rows
    }

    func startRunMerge() throws {
        runMerge = try RunMerge(runs, into: tables, limits: limits, in: database)
        mergeStartRows = logs[activeLog].index.rows
    }

    func finishMerge() throws {
        while isMerging {
            try mergeSlice()
            if needsCheckpoint { checkpoint() }
        }
    }

    /// Merges the rows of one or more devices, or clears tables of a merged log or of merged runs.
    /// - Parameter maxDuration: the duration after which the slice ends with the current device, or nil for the usual one.
    func mergeSlice(maxDuration: Duration? = nil) throws {
        guard isMerging else { return }
        // A merge only moves rows that are already durable, so it does not wait for the disk. The next commit syncs it.
        let synchronous = try database.integer("PRAGMA synchronous")
        try database.execute("PRAGMA synchronous = NORMAL")
        defer { try? database.execute("PRAGMA synchronous = \(synchronous)") }
        let end = ContinuousClock.now + (maxDuration ?? limits.slice)
        defer { didChangeLogLength() }
        if let log = merge?.log {
            try mergeSlice(of: log) { ContinuousClock.now >= end }
        } else {
            try runMerge?.runSlice(in: database) { ContinuousClock.now >= end }
            if runMerge?.isDone == true {
                runs.removeAll()
                runMerge = nil
                runsStart = nil
            }
        }
    }

    private func mergeSlice(of log: LogNumber, until isOver: () -> Bool) throws {
        let index = logs[log].index
        try merge?.runSlice(
            index, evidence: evidence, scopes: scopes, ledger: received, in: database, until: isOver)
        for part in merge?.lastMoved ?? [] { runs.add(part) }
        if !runs.isEmpty, runsStart == nil { runsStart = .now }
        for device in merge?.lastMerged ?? [] {
            for stream in index.devices[Int(device)]?.streams ?? [] where stream.table != ClockLog.table {
                tables[stream.table].didMerge(stream.newest, device: device)
            }
        }
        guard merge?.isDone == true else { return }
        logs[log].clear()
        merge = nil
    }
}
