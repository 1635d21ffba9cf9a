import LockstepModel
import LockstepSQLite

/// The table `expired`: before which time the samples of a series have left.
///
/// It is created when a store is first opened with rules, so that others do not have it.
enum ExpiredTable {
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

    /// Creates the table if it does not exist.
    static func create(in database: SQLiteDatabase) throws(SQLiteError) { try database.execute(definition) }

    /// Whether anything may have left.
    static func exists(in database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        try StoreSchema.storedSQL(of: "expired", in: database) != nil
    }

    /// Adds samples that have left, or that arrived too late, as part of the current transaction. Without any, only the limit of
    /// a series of which something has left is raised.
    static func add(
        samples: Int = 0, late: Int = 0, of device: Int64, stream: Int64, before time: Int64,
        in database: SQLiteDatabase
    ) throws(SQLiteError) {
        try database.execute(
            """
            INSERT INTO expired SELECT \(device), \(stream), \(time), 0, 0 WHERE \(samples + late) > 0 ON CONFLICT DO NOTHING;
            UPDATE expired SET from_t = max(from_t, \(time)), samples = samples + \(samples), late = late + \(late)
            WHERE device_id = \(device) AND stream_id = \(stream);
            """)
    }

    /// Returns the limits of a stream, by device, in a store that others may write.
    static func limits(of stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) -> [Int64: Int64] {
        guard try exists(in: database) else { return [:] }
        let select = try database.prepare("SELECT stream_id FROM streams WHERE name = ?")
        try select.bind(stream.name, at: 1)
        guard try select.step() else { return [:] }
        return Dictionary(try limits(of: select.int64(at: 0), in: database)) { $1 }
    }

    /// Returns the limits of a stream, by device.
    static func limits(of stream: Int64, in database: SQLiteDatabase) throws(SQLiteError) -> [(Int64, Int64)] {
        guard try exists(in: database) else { return [] }
        let select = try database.prepare("SELECT device_id, from_t FROM expired WHERE stream_id = \(stream)")
        var limits: [(Int64, Int64)] = []
        while try select.step() { limits.append((select.int64(at: 0), select.int64(at: 1))) }
        return limits
    }
}
