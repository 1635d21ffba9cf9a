import LockstepModel
import LockstepSQLite

/// Samples that came with the time of a stored one and other values.
struct ConflictTable {
    private let insert: SQLiteStatement

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        insert = try database.prepare(
            """
            INSERT INTO conflicts (device_id, stream, t, stored, received, epoch, seq, at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """, persistent: true)
    }

    /// Keeps sample `index` of a batch beside the values that are stored.
    /// - Returns: whether these values are new; the same ones are kept once.
    func write(
        _ index: Int, of received: ReceivedBatch, stored: [Double], device: Int64, in database: SQLiteDatabase
    ) throws(SQLiteError) -> Bool {
        let block = received.batch.samples
        try insert.bind(device, at: 1)
        try insert.bind(block.stream.name, at: 2)
        try insert.bind(block.times[index], at: 3)
        try insert.bind(block.stream.json(stored), at: 4)
        try insert.bind(block.stream.json(block.values(at: index)), at: 5)
        try insert.bind(received.batch.position?.epoch.rawValue, at: 6)
        try insert.bind(received.batch.position?.seq, at: 7)
        try insert.bind(received.receivedAt.microseconds, at: 8)
        try insert.run()
        return database.changes == 1
    }
}
