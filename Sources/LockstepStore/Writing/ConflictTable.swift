import LockstepModel
import LockstepSQLite

/// Samples that came with the time of a stored one and other values: the first ones, up to a limit.
struct ConflictTable {
    private let limit: Int
    /// Rows there are; nil while that is not known.
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

    /// Keeps sample `index` of a run beside the values that are stored, where there is room.
    /// - Returns: whether these values are new; the same ones are kept once.
    mutating func write(
        _ index: Int, of run: SampleRun, stored: [Double], device: Int64, in database: SQLiteDatabase
    ) throws(SQLiteError) -> Bool {
        let block = run.samples
        let present: Int64
        if let count { present = count } else { present = try database.integer("SELECT count(*) FROM conflicts") }
        count = present
        guard present < limit else { return try !holds(index, of: block, device: device) }
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
        count = present + 1
        return true
    }

    /// The transaction was rolled back, and with it what it wrote.
    mutating func rollback() { count = nil }

    private func holds(_ index: Int, of block: SampleBlock, device: Int64) throws(SQLiteError) -> Bool {
        defer { select.reset() }
        try select.bind(device, at: 1)
        try select.bind(block.stream.name, at: 2)
        try select.bind(block.times[index], at: 3)
        try select.bind(block.stream.json(block.values(at: index)), at: 4)
        return try select.step()
    }
}
