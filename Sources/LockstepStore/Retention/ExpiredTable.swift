import LockstepModel
import LockstepSQLite

/// The table `expired`: before which time the samples of a series have left.
///
/// It is created when a store is first opened with rules, so that others do not have it.
struct ExpiredTable {
    private static let definition = """
        CREATE TABLE IF NOT EXISTS expired (
            -- Streams of devices of which samples have left, by a rule of retention or because the store was full.
            device_id INTEGER NOT NULL REFERENCES _devices,
            stream_id INTEGER NOT NULL, -- see streams
            from_t INTEGER NOT NULL, -- samples before this time have left, except those in holds; in µs since 1970-01-01 UTC
            samples INTEGER NOT NULL DEFAULT 0, -- samples that have left
            late INTEGER NOT NULL DEFAULT 0, -- samples that arrived afterwards from before this time, and were not stored
            PRIMARY KEY (device_id, stream_id)
        ) WITHOUT ROWID
        """

    private let add: SQLiteStatement
    private let raise: SQLiteStatement

    /// Creates the table if it does not exist.
    static func create(in database: SQLiteDatabase) throws(SQLiteError) { try database.execute(definition) }

    /// Whether anything may have left.
    static func exists(in database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        try StoreSchema.storedSQL(of: "expired", in: database) != nil
    }

    /// Prepares the statements, or returns nil if there is no table.
    init?(in database: SQLiteDatabase) throws(SQLiteError) {
        guard try Self.exists(in: database) else { return nil }
        add = try database.prepare(
            """
            INSERT INTO expired (device_id, stream_id, from_t, samples, late) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET from_t = max(from_t, excluded.from_t), samples = samples + excluded.samples,
                late = late + excluded.late
            """, persistent: true)
        raise = try database.prepare(
            "UPDATE expired SET from_t = max(from_t, ?3) WHERE device_id = ?1 AND stream_id = ?2", persistent: true)
    }

    /// Adds samples that have left, or that arrived too late, as part of the current transaction.
    func add(samples: Int = 0, late: Int = 0, of device: Int64, stream: Int64, before time: Int64) throws(SQLiteError) {
        try add.bind(device, at: 1)
        try add.bind(stream, at: 2)
        try add.bind(time, at: 3)
        try add.bind(Int64(samples), at: 4)
        try add.bind(Int64(late), at: 5)
        try add.run()
    }

    /// Raises the limit of a series of which something has left, as part of the current transaction.
    func raise(_ device: Int64, stream: Int64, to time: Int64) throws(SQLiteError) {
        try raise.bind(device, at: 1)
        try raise.bind(stream, at: 2)
        try raise.bind(time, at: 3)
        try raise.run()
    }

    /// Returns the limits of a stream, by device.
    static func limits(of stream: Int64, in database: SQLiteDatabase) throws(SQLiteError) -> [(Int64, Int64)] {
        guard try exists(in: database) else { return [] }
        let select = try database.prepare("SELECT device_id, from_t FROM expired WHERE stream_id = ?")
        try select.bind(stream, at: 1)
        var limits: [(Int64, Int64)] = []
        while try select.step() { limits.append((select.int64(at: 0), select.int64(at: 1))) }
        return limits
    }
}
