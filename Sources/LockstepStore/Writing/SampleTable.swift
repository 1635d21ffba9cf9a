import LockstepModel
import LockstepSQLite

/// The tables of one stream, in which each sample is stored once: the table of merged rows, and its part of the logs and
/// runs.
struct SampleTable {
    let stream: SensorStream
    /// The place of the stream in the logs, or nil if all rows are written to the table directly.
    let logTarget: LogTarget?
    let columns: MergedColumns
    private let inserts: [RowInsert]
    private let lookup: SampleLookup
    private let selectNewest: SQLiteStatement
    private let selectMerged: SQLiteStatement
    private let selectPart: [RowSource: SQLiteStatement]
    /// The time of the newest row of each device in the table and the runs, in µs since 1970, or `Int64.min` if it has
    /// none.
    private var newest = NumberMap<Int64>()
    /// The devices to which the current transaction has written rows directly.
    private var changed: [Int64] = []

    /// Prepares the statements, or returns nil if the table does not exist.
    init?(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        guard let columns = try MergedColumns(of: stream, in: database),
            let lookup = try SampleLookup(stream, in: database)
        else { return nil }
        self.stream = stream
        self.columns = columns
        self.lookup = lookup
        let logStream = try LogSchema.find(stream, in: database)
        logTarget = LogTarget(stream, logStream)
        var inserts: [RowInsert] = []
        for rows in RowInsert.sizes { inserts.append(try RowInsert(stream, columns, rows: rows, in: database)) }
        self.inserts = inserts
        var newest = "SELECT max(t) AS t FROM \(stream.mergedTable) WHERE device_id = ?1"
        if let logStream {
            // Those of a run are not sorted by time.
            let runs = RowSource.runs
            newest = """
                SELECT max(t) FROM (\(newest) UNION ALL
                    SELECT (SELECT max(t) FROM \(runs.table(logStream.shape))
                        WHERE id BETWEEN \(runs.keysSQL(stream: "\(logStream.id)", device: "?1")))
                    FROM log_runs WHERE stream_id = \(logStream.id))
                """
        }
        selectNewest = try database.prepare(newest, persistent: true)
        selectMerged = try database.prepare(
            "SELECT t, \(columns.list) FROM \(stream.mergedTable) WHERE device_id = ? AND t = ?", persistent: true)
        var selects: [RowSource: SQLiteStatement] = [:]
        for source in RowSource.all {
            guard let logStream, logTarget != nil else { continue }
            let values = stream.columns.map(logStream.value)
            selects[source] = try database.prepare(
                """
                SELECT t, \(values.joined(separator: ", ")) FROM \(source.table(logStream.shape))
                WHERE t BETWEEN ?1 AND ?2 AND id BETWEEN ?3 AND ?4
                """, persistent: true)
        }
        selectPart = selects
    }

    /// Inserts new samples into the table, and writes samples that it contains with different values to `conflicts`.
    mutating func write(
        _ run: SampleRun, device: Int64, in database: SQLiteDatabase, conflicts: inout ConflictTable
    ) throws(SQLiteError) -> IngestResult.Counts {
        if let known = newest[Int(device)], let last = run.samples.times.max(), last > known {
            newest[Int(device)] = last
            changed.append(device)
        }
        let block = run.samples
        var counts = IngestResult.Counts()
        var first = 0
        while first < block.count {
            // There is always an insert, because the smallest one has one row.
            guard let insert = inserts.first(where: { $0.rows <= block.count - first }) else { break }
            let rows = first..<first + insert.rows
            first = rows.upperBound
            let stored = try insert.run(rows, of: block, device: device, in: database)
            counts.stored += stored
            guard stored < rows.count else { continue }
            let new = try recordConflicts(rows, of: run, device: device, in: database, conflicts: &conflicts)
            counts.conflicts += new
            counts.duplicates += rows.count - stored - new
        }
        return counts
    }

    /// Returns whether the table or the runs may contain rows of a device at or after a time.
    mutating func mayContain(_ time: Int64, device: Int64) throws(SQLiteError) -> Bool {
        if let known = newest[Int(device)] { return time <= known }
        try selectNewest.bind(device, at: 1)
        defer { selectNewest.reset() }
        let found = try selectNewest.step() ? selectNewest.optionalInt64(at: 0) ?? .min : .min
        newest[Int(device)] = found
        return time <= found
    }

    /// Returns the time of the newest row of a device in the table and the runs, in µs since 1970, or nil if it has none.
    mutating func newestTime(of device: Int64) throws(SQLiteError) -> Int64? {
        _ = try mayContain(.max, device: device)
        return newest[Int(device)].flatMap { $0 == .min ? nil : $0 }
    }

    /// Returns whether a run contains rows of a device at some times.
    func isInRun(_ run: Int64, _ times: ClosedRange<Int64>, device: Int64) throws(SQLiteError) -> Bool {
        guard let select = try selectRows(times, of: device, in: .runs, run) else { return false }
        defer { select.reset() }
        return try select.step()
    }

    /// Returns the stored rows of a device at some times, from the table and from the given turns of the logs and runs.
    ///
    /// The result may also contain rows at other times.
    func stored(
        _ times: ArraySlice<Int64>, device: Int64, parts: [(source: RowSource, part: Int64)]
    ) throws(SQLiteError) -> [Int64: [Double]] {
        var rows: [Int64: [Double]] = [:]
        guard let first = times.min(), let last = times.max() else { return rows }
        try selectMerged.bind(device, at: 1)
        for time in times {
            // There may be millions of other rows between two times, so look up each one.
            try selectMerged.bind(time, at: 2)
            try read(selectMerged, into: &rows)
        }
        for (source, part) in parts {
            if let select = try selectRows(first...last, of: device, in: source, part) {
                try read(select, into: &rows)
            }
        }
        return rows
    }

    /// Returns the bound statement that reads the rows of a device in a turn or run, or nil if the logs cannot contain the
    /// stream.
    private func selectRows(
        _ times: ClosedRange<Int64>, of device: Int64, in source: RowSource, _ part: Int64
    ) throws(SQLiteError) -> SQLiteStatement? {
        guard let select = selectPart[source], let target = logTarget else { return nil }
        let keys = source.keys(part: part, stream: target.stream.id, device: device)
        try select.bind(times.lowerBound, at: 1)
        try select.bind(times.upperBound, at: 2)
        try select.bind(keys.lowerBound, at: 3)
        try select.bind(keys.upperBound, at: 4)
        return select
    }

    /// Raises the time of the newest row after a merge wrote rows of a device.
    mutating func didMerge(_ time: Int64, device: Int64) {
        if let known = newest[Int(device)] { newest[Int(device)] = max(known, time) }
    }

    mutating func commit() { changed.removeAll(keepingCapacity: true) }

    /// Forgets what the reverted transaction changed.
    mutating func rollBack() {
        for device in changed { newest[Int(device)] = nil }
        changed.removeAll(keepingCapacity: true)
    }

    private func read(_ select: SQLiteStatement, into rows: inout [Int64: [Double]]) throws(SQLiteError) {
        while try select.step() {
            rows[select.int64(at: 0)] = stream.columns.indices.map { column in
                stream.columns[column].kind.readStored(select, at: column + 1)
            }
        }
    }

    /// Writes those of `rows` that are stored with different values to `conflicts`.
    /// - Returns: the number of conflicts that were not in `conflicts` yet.
    private func recordConflicts(
        _ rows: Range<Int>, of run: SampleRun, device: Int64, in database: SQLiteDatabase,
        conflicts: inout ConflictTable
    ) throws(SQLiteError) -> Int {
        var new = 0
        for (index, stored) in try lookup.differences(rows, of: run.samples, device: device) {
            if try conflicts.write(index, of: run, stored: stored, device: device, in: database) { new += 1 }
        }
        return new
    }
}

extension SensorStream {
    /// Returns whether a stored sample has the values of sample `index` of a block. Null equals null.
    func isEqual(_ index: Int, of block: SampleBlock, to stored: [Double]) -> Bool {
        for (column, definition) in columns.enumerated() {
            let received = definition.kind.normalized(block.columns[column][index])
            guard stored[column] == received || (stored[column].isNaN && received.isNaN) else { return false }
        }
        return true
    }
}
