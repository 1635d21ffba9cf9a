import LockstepModel
import LockstepSQLite

/// The table `conflicts`: samples with the time of a stored sample but different values. When a limit is reached,
/// further conflicts are counted but not written.
struct ConflictTable {
    private let limit: Int
    /// The number of rows, or nil if it must be read from the table.
    private var count: Int64?
    private let insert: SQLiteStatement
    private let select: SQLiteStatement

    init(limit: Int, in database: SQLiteDatabase) throws(SQLiteError) {
        self.limit = limit
        select = try database.prepare(
            "SELECT 1 FROM conflicts WHERE device_id = ? AND stream = ? AND t = ? AND received = ?", persistent: true)
        insert = try database.prepare(
            """
            INSERT INTO conflicts (device_id, stream, t, stored, received, epoch, seq, at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """, persistent: true)
    }

    /// Writes sample `index` of a run together with the stored values, unless the limit is reached.
    /// - Returns: whether the conflict is new. A conflict that the table already contains is not written again.
    mutating func write(
        _ index: Int, of run: SampleRun, stored: [Double], device: Int64, in database: SQLiteDatabase
    ) throws(SQLiteError) -> Bool {
        let block = run.samples
        let rowCount: Int64
        if let count { rowCount = count } else { rowCount = try database.integer("SELECT count(*) FROM conflicts") }
        count = rowCount
        guard rowCount < limit else { return try !isRecorded(index, of: block, device: device) }
        let batch = run.batch(of: index)
        try insert.bind(device, at: 1)
        try insert.bind(block.stream.name, at: 2)
        try insert.bind(block.times[index], at: 3)
        try insert.bind(block.stream.json(stored), at: 4)
        try insert.bind(block.stream.json(block.values(at: index)), at: 5)
        try insert.bind(batch.position?.epoch.rawValue, at: 6)
        try insert.bind(batch.position?.seq, at: 7)
        try insert.bind(batch.receivedAt.microseconds, at: 8)
        try insert.run()
        guard database.changes == 1 else { return false }
        count = rowCount + 1
        return true
    }

    /// Discards the cached row count, after rows were deleted or the transaction was rolled back.
    mutating func forgetCount() { count = nil }

    /// Returns whether the table contains sample `index` of `block`.
    private func isRecorded(_ index: Int, of block: SampleBlock, device: Int64) throws(SQLiteError) -> Bool {
        defer { select.reset() }
        try select.bind(device, at: 1)
        try select.bind(block.stream.name, at: 2)
        try select.bind(block.times[index], at: 3)
        try select.bind(block.stream.json(block.values(at: index)), at: 4)
        return try select.step()
    }
}
