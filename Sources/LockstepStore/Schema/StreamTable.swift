import LockstepModel
import LockstepSQLite

/// The table `streams`: the numbers of streams, and the definitions of declared ones.
enum StreamTable {
    /// Adds or updates the definitions of `streams`. Call it within a transaction.
    /// - Throws: ``StoreError`` if a stream differs from the stored one or a table of that name exists; ``SQLiteError``.
    static func register(_ streams: [SensorStream], in database: SQLiteDatabase) throws {
        let source = SQLiteSource(database)
        let insert = try database.prepare(
            """
            INSERT INTO streams (name, table_name, definition) VALUES (?, ?, ?)
            ON CONFLICT (name) DO UPDATE SET definition = excluded.definition
            """)
        for (stream, definition, isNew) in try StreamDefinition.changes(to: streams, in: source) {
            let tables = [stream.table, stream.rowTable]
            if isNew, try tables.contains(where: { try !StoreSchema.columns(of: $0, in: database).isEmpty }) {
                throw StreamDefinition.conflict(
                    stream,
                    "it already has a table \(stream.table), which Lockstep did not create. Rename that table, or use "
                        + "another stream name", source)
            }
            try insert.bind(stream.name, at: 1)
            try insert.bind(stream.table, at: 2)
            try insert.bind(definition, at: 3)
            try insert.run()
        }
    }

    /// Returns the number of a stream, or nil if it has none.
    static func id(of stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) -> Int64? {
        let select = try database.prepare("SELECT stream_id FROM streams WHERE name = ?")
        try select.bind(stream.name, at: 1)
        return try select.step() ? select.int64(at: 0) : nil
    }

    /// Returns the number of a stream, and gives it one if it has none. Call it within a transaction.
    static func register(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) -> Int64 {
        if let id = try id(of: stream, in: database) { return id }
        let insert = try database.prepare("INSERT INTO streams (name, table_name) VALUES (?, ?)")
        try insert.bind(stream.name, at: 1)
        try insert.bind(stream.table, at: 2)
        try insert.run()
        return database.lastInsertRowID
    }
}
