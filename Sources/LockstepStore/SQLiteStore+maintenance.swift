import LockstepModel
import LockstepSQLite

// Checkpoints, merges of what waits, and what follows them.

extension SQLiteStore {
    /// Whether there is maintenance to do: a checkpoint, a merge, samples that leave, or summaries.
    public var needsMaintenance: Bool {
        !hasLostFiles && (needsCheckpoint || isMerging && !hasMergeFailed || canRemove || needsSummaries)
    }

    /// Does one piece of maintenance: copies the write-ahead log into the database (checkpoint), or merges rows for a
    /// few milliseconds, or removes those that a person has deleted, or whose time is over, or summarises minutes, for as long.
    public func performMaintenance() {
        // Ignore errors: the checkpoint is tried again when the log is longer, the merge after the next commit, and that
        // commit reports a full disk.
        // A reader with an old snapshot can prevent a complete checkpoint for hours. Merge nevertheless.
        if needsCheckpoint, checkpoint() { return }
        if isMerging, !hasMergeFailed {
            do { try mergeSlice() } catch { didFailToMerge(error) }
        } else if canRemove {
            let begin = ContinuousClock.now
            performRemoval(maxDuration: limits.slice)
            retention.pauseEnd = .now + (.now - begin) * limits.removalPause
        } else if needsSummaries {
            performSummaries()
        }
    }

    /// Whether rows are to leave now.
    private var canRemove: Bool { needsRemoval && (isDeletionDue || !retention.isPausing(at: .now)) }

    /// Whether rows are being merged.
    var isMerging: Bool { merge != nil }

    /// Merges what waits, unless it is much. The store is not used afterwards.
    public func close() {
        guard !database.isInTransaction else { return }
        guard !hasLostFiles else { return completeLostFiles() }
        // If it fails, the rows go on waiting: the next collector merges them.
        if waiting.frozen.size + waiting.open.size <= limits.maxSizeAtStop { try? mergeAll() }
    }

    /// Merges everything that waits, and lets all views show the tables alone.
    package func mergeAll() throws {
        try finishMerge()
        if !waiting.open.isEmpty {
            try startMerge()
            try finishMerge()
        }
        do { try database.transaction { try showTablesOnly() } } catch {
            for index in tables.indices { tables[index].rollBack() }
            throw error
        }
        for index in tables.indices { tables[index].commit() }
    }

    var needsCheckpoint: Bool { database.logPages >= nextCheckpoint || isRoomScarce }

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
    func checkpoint() -> Bool {
        isRoomScarce = false
        nextCheckpoint = database.logPages + Self.pages(limits.checkpointRetryPages, of: pageSize)
        isLogPinned = (try? database.checkpoint()) != true
        return !isLogPinned
    }

    /// Starts a merge if enough waits, or some of it for long.
    func startMergeIfDue() {
        guard !isMerging, !waiting.open.isEmpty else { return }
        let isFull =
            waiting.open.size >= limits.fullSize(streams: waiting.open.streamCount, pageSize: pageSize)
        // If it fails, the next commit tries again.
        if isFull || ContinuousClock.now - waiting.openSince >= limits.maxAge { try? startMerge() }
    }

    /// Merges in proportion to what the commits append, if they leave no time for it in between. So what waits is limited.
    /// - Throws: the error of a merge that fails again and again, when too much waits because of it.
    func keepPace() throws {
        if let mergeError, waiting.open.size > 2 * limits.maxSize { throw mergeError }
        guard let size = merge?.size, !hasMergeFailed else { return }
        let full = max(limits.minSize, size)
        do {
            while let merge, merge.progress < limits.dueShare(size: waiting.open.size, fullSize: full) {
                try mergeSlice(maxDuration: .milliseconds(1))
                if needsCheckpoint { checkpoint() }
            }
        } catch { didFailToMerge(error) }
    }

    func didFailToMerge(_ error: any Error) {
        hasMergeFailed = true
        mergeError = error
    }

    func startMerge() throws {
        merge = try WaitingMerge(freezing: &waiting, in: database)
    }

    func finishMerge() throws {
        while isMerging {
            try mergeSlice()
            if needsCheckpoint { checkpoint() }
        }
    }

    /// Merges the rows of one or more devices, or deletes the rows of a merge.
    /// - Parameter maxDuration: the duration after which the slice ends with the current device, or nil for the usual one.
    func mergeSlice(maxDuration: Duration? = nil) throws {
        guard isMerging else { return }
        // A merge only moves rows that are already durable, so it does not wait for the disk. The next commit syncs it.
        try database.execute("PRAGMA synchronous = NORMAL")
        isSyncLowered = true
        defer { try? restoreSync() }
        let end = ContinuousClock.now + (maxDuration ?? limits.slice)
        defer { didChangeLogLength() }
        retention.holds = nil
        defer { retention.holds = nil }
        do {
            try merge?.runSlice(waiting, in: database, until: { ContinuousClock.now >= end }, move: move) {
                try showTablesOnly()
            }
        } catch {
            for index in tables.indices { tables[index].rollBack() }
            throw error
        }
        mergeError = nil
        guard merge?.isDone == true else { return }
        for index in tables.indices { tables[index].commit() }
        waiting.forgetFrozen()
        merge = nil
        retention.removal?.didMerge()
    }

    /// Lets transactions wait for the disk again, as the options of the store say.
    func restoreSync() throws(SQLiteError) {
        guard isSyncLowered else { return }
        try database.execute("PRAGMA synchronous = \(survivesPowerLoss ? "FULL" : "NORMAL")")
        isSyncLowered = false
    }

    /// Moves what waits of a device to the tables.
    private func move(_ device: Int64, _ content: WaitingIndex.Device) throws {
        for stream in content.streams.sorted(by: { $0.table < $1.table }) where !stream.rows.isEmpty {
            if stream.table == ClockTable.table {
                for row in stream.rows { try clocks.move(row.n) }
                continue
            }
            var block = SampleBlock(stream: tables[stream.table].stream)
            let table = tables[stream.table]
            let first = stream.rows.map(\.first).min() ?? .max
            let last = stream.rows.map(\.last).max() ?? first
            let filter = try removedTimes(
                of: stream.table, device, in: first...max(first, last),
                parts: stream.rows.map { $0.first...max($0.first, $0.last) }, areNew: false)
            var removed: [RemovedTimes.Reason: Int] = [:]
            // Those that are only in the summary of their minute from now on.
            var expired = SampleBlock(stream: block.stream)
            for row in stream.rows {
                try waiting.read(row.n) { row throws(SQLiteError) in
                    table.decode(row) { time, values in
                        if let reason = filter?.reason(time) {
                            removed[reason, default: 0] += 1
                            guard reason == .expired else { return }
                            expired.append(time: Timestamp(microseconds: time), values: values)
                        } else {
                            block.append(time: Timestamp(microseconds: time), values: values)
                        }
                    }
                }
            }
            try count(removed, areNew: false, of: stream.table, device)
            if !expired.times.isEmpty, try keepsSummaries(of: stream.table, device: device) {
                try tables[stream.table].minutes?.add(expired, of: device, sums)
            }
            try tables[stream.table].insert(block.times.indices, of: block, device: device)
        }
        for number in content.scopes { try received.persist(scopes.scope(number, device: device)) }
        try devices.add(content.figures, of: device, evidence: evidence[Int(device)])
    }

    /// Lets the views show the tables alone of which no samples wait, as part of the current transaction. A view whose
    /// samples have just been moved is not changed: more of them will wait soon.
    private func showTablesOnly() throws(SQLiteError) {
        for index in tables.indices where tables[index].showsWaiting {
            let rows = [waiting.open, waiting.frozen].reduce(0) { $0 + ($1.rowCounts[index] ?? 0) }
            if rows == 0 { try tables[index].show(waiting: false, in: database) }
        }
    }
}
