import LockstepModel
import LockstepSQLite

// Deleting what people have asked to delete, in slices between the transactions of ingest.
//
// A request is committed like received samples, and from then on no sample of its times is stored. What waits of the device
// is merged first. Then each slice deletes some rows in a transaction of its own, so a store that was killed goes on with
// what is left.

extension SQLiteStore {
    /// The number of rows that one statement deletes: they take about a millisecond.
    private static let rowsPerStatement = 1000
    /// The number of pages that one statement overwrites.
    private static let pagesPerStatement: Int64 = 128

    /// Adds the deletions of a group, before its samples.
    func write(_ requests: [Deletion]) throws(SQLiteError) {
        for deletion in requests {
            try deletions.add(deletion, of: devices.id(of: deletion.device), in: database)
        }
    }

    /// Returns the samples that no deletion covers, and counts the others as refused; nil if it is all of them.
    func undeleted(_ samples: Range<Int>, of block: SampleBlock, device: Int64) throws(SQLiteError) -> [Int]? {
        let covering = deletions.covering(block.stream, of: device)
        guard !covering.isEmpty else { return nil }
        var refused: [Int64: Int64] = [:]
        let kept = samples.filter { sample in
            guard let entry = covering.first(where: { $0.deletion.times.contains(block.times[sample]) }) else {
                return true
            }
            refused[entry.id, default: 0] += 1
            return false
        }
        for (id, count) in refused { try deletions.count(refused: count, of: id, in: database) }
        return refused.isEmpty ? nil : kept
    }

    /// Whether a deletion is under way.
    var isDeleting: Bool { deletions.pending != nil }

    /// Does a part of the first deletion that is not done.
    func deletionSlice() throws {
        guard let entry = deletions.pending else { return }
        if mergedDeletion != entry.id {
            // Nothing of its times waits after this merge, because no more is added.
            let waits = waiting.open.devices[Int(entry.device)] != nil
            if waits { try startMerge() }
            mergedDeletion = entry.id
            if waits { return }
        }
        // A slice that a power failure undoes is repeated.
        try database.execute("PRAGMA synchronous = NORMAL")
        isSyncLowered = true
        defer { try? restoreSync() }
        if entry.deletion.isSecure { try database.execute("PRAGMA secure_delete = ON") }
        defer { if entry.deletion.isSecure { try? database.execute("PRAGMA secure_delete = FAST") } }
        let isDone = try database.transaction { try deleteSome(of: entry, until: ContinuousClock.now + limits.slice) }
        didChangeLogLength()
        guard isDone else { return }
        conflicts.rollBack()
        deletions.complete(entry)
        // The log has the deleted content until it is written again.
        if entry.deletion.isSecure { try? truncateLog() }
    }

    /// Deletes some rows in the current transaction.
    /// - Returns: whether everything is deleted.
    private func deleteSome(of entry: DeletionTable.Entry, until end: ContinuousClock.Instant) throws -> Bool {
        var samples: Int64 = 0
        // Nothing of its times comes back while the free pages are overwritten.
        let isOverwriting = emptiedDeletion == entry.id
        let isEmpty = try isOverwriting || deleteRows(of: entry, until: end, &samples)
        let isDone = try isEmpty && (!entry.deletion.isSecure || isOverwriting && overwriteFreePages(until: end))
        if isEmpty { emptiedDeletion = entry.id }
        let done = isDone ? "\(Moment.now().wall.microseconds)" : "NULL"
        try database.execute(
            """
            UPDATE deletions SET count = count + \(samples), done = \(done) WHERE deletion_id = \(entry.id);
            UPDATE _devices SET samples = samples - \(samples) WHERE device_id = \(entry.device);
            """)
        if isDone { try updateNewest(of: entry.device) }
        return isDone
    }

    private func deleteRows(
        of entry: DeletionTable.Entry, until end: ContinuousClock.Instant, _ samples: inout Int64
    ) throws -> Bool {
        let (times, device) = (entry.deletion.times, entry.device)
        for table in tables where entry.deletion.covers(table.stream) && table.id != nil {
            let key = RowKey(table: table.stream.rowTable, column: "device_id", value: device)
            guard try delete(key, times, until: end, counting: &samples) else { return false }
        }
        var others: Int64 = 0
        for key in try refinedKeys(of: entry) {
            guard try delete(key, times, until: end, counting: &others) else { return false }
        }
        let range = "device_id = \(device) AND t >= \(times.lowerBound) AND t < \(times.upperBound)"
        let stream = entry.deletion.stream.map { " AND stream = \(literalOfSQLite($0))" } ?? ""
        try database.execute("DELETE FROM conflicts WHERE \(range)\(stream)")
        guard entry.deletion.isWhole else { return true }
        try database.execute(
            """
            DELETE FROM _clocks WHERE \(range);
            DELETE FROM deliveries WHERE event_id IN (SELECT event_id FROM events WHERE \(range));
            DELETE FROM events WHERE \(range);
            """)
        return true
    }

    /// A table whose rows have a key of this column and the time.
    private struct RowKey {
        let table: String
        let column: String
        let value: Int64
    }

    /// Deletes the rows of a key in a range of times, the oldest first.
    /// - Returns: whether none is left.
    private func delete(
        _ key: RowKey, _ times: Range<Int64>, until end: ContinuousClock.Instant, counting count: inout Int64
    ) throws(SQLiteError) -> Bool {
        let range = "\(key.column) = \(key.value) AND t >= \(times.lowerBound) AND t < "
        let next = try database.prepare(
            """
            SELECT t FROM \(key.table) WHERE \(range)\(times.upperBound) ORDER BY t
            LIMIT 1 OFFSET \(Self.rowsPerStatement)
            """)
        while true {
            let last = try next.step() ? next.int64(at: 0) : nil
            next.reset()
            try database.execute("DELETE FROM \(key.table) WHERE \(range)\(last ?? times.upperBound)")
            count += Int64(database.changes)
            if last == nil { return true }
            if ContinuousClock.now >= end { return false }
        }
    }

    /// Returns the keys of what `lockstep refine` has computed of the deleted streams.
    private func refinedKeys(of entry: DeletionTable.Entry) throws(SQLiteError) -> [RowKey] {
        guard try StoreSchema.storedSQL(of: "refined_runs", in: database) != nil else { return [] }
        let select = try database.prepare("SELECT run_id, kind FROM refined_runs WHERE device_id = ?")
        try select.bind(entry.device, at: 1)
        var keys: [RowKey] = []
        while try select.step() {
            guard let kind = select.text(at: 1).flatMap({ RefinedKind(rawValue: $0) }),
                entry.deletion.stream.map({ kind.sources.contains($0) }) ?? true
            else { continue }
            keys.append(RowKey(table: kind.rowTable, column: "run_id", value: select.int64(at: 0)))
        }
        return keys
    }

    /// Corrects the time of a device's newest sample.
    private func updateNewest(of device: Int64) throws(SQLiteError) {
        let newest = tables.filter { $0.id != nil }.map {
            "SELECT max(t) AS t FROM \($0.stream.rowTable) WHERE device_id = \(device)"
        }
        guard !newest.isEmpty else { return }
        try database.execute(
            """
            UPDATE _devices SET last_t = (SELECT max(t) FROM (\(newest.joined(separator: " UNION ALL "))))
            WHERE device_id = \(device)
            """)
    }

    /// Overwrites the free pages of the file, which may have content from before: what has waited is not overwritten when it
    /// is moved. Rows of zeros take all of them, and are then given back.
    /// - Returns: whether all are overwritten.
    private func overwriteFreePages(until end: ContinuousClock.Instant) throws(SQLiteError) -> Bool {
        try database.execute("CREATE TABLE IF NOT EXISTS _zeros (zeros BLOB)")
        while !hasFilledFreePages {
            // The last row may need a page more than are free.
            let free = try database.integer("PRAGMA freelist_count")
            guard free > 0 else {
                hasFilledFreePages = true
                break
            }
            if ContinuousClock.now >= end { return false }
            // The last four bytes of a page are the number of the next one.
            let size = min(free, Self.pagesPerStatement) * (Int64(pageSize) - 4)
            try database.execute("INSERT INTO _zeros VALUES (zeroblob(\(size)))")
        }
        // The end of the last page of a row is not overwritten when the row is inserted, but when it is deleted in this mode.
        while true {
            try database.execute("DELETE FROM _zeros WHERE rowid = (SELECT max(rowid) FROM _zeros)")
            guard database.changes > 0 else { break }
            if ContinuousClock.now >= end { return false }
        }
        try database.execute("DROP TABLE _zeros")
        hasFilledFreePages = false
        return true
    }

    /// Empties the write-ahead log, unless a reader uses it.
    private func truncateLog() throws(SQLiteError) {
        let timeout = try database.integer("PRAGMA busy_timeout")
        try database.execute("PRAGMA busy_timeout = 0")
        defer { try? database.execute("PRAGMA busy_timeout = \(timeout)") }
        try database.checkpoint(truncate: true)
    }
}

extension RefinedKind {
    /// The names of the streams from which it is computed.
    package var sources: [String] {
        switch self {
        case .attitude: [SensorStream.accelerometer, .gyroscope, .magnetometer].map(\.name)
        case .steps: [SensorStream.accelerometer.name, SensorStream.steps.name]
        case .location: [SensorStream.location.name]
        }
    }
}
