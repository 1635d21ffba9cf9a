import LockstepModel
import LockstepSQLite

/// The table of one stream, in which each sample is stored once.
struct SampleTable {
    private let stream: SensorStream
    private let inserts: [RowInsert]
    private let lookup: SampleLookup

    /// Prepares the statements, or returns nil if the table does not exist.
    init?(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        guard let lookup = try SampleLookup(stream, in: database) else { return nil }
        self.stream = stream
        self.lookup = lookup
        var inserts: [RowInsert] = []
        for rows in RowInsert.sizes { inserts.append(try RowInsert(stream, rows: rows, in: database)) }
        self.inserts = inserts
    }

    /// Inserts new samples, and writes samples that are already stored with different values to `conflicts`.
    func write(
        _ run: SampleRun, device: Int64, in database: SQLiteDatabase, conflicts: inout ConflictTable
    ) throws(SQLiteError) -> IngestResult.Counts {
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
