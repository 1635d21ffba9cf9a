import LockstepModel
import LockstepSQLite

/// The table `streams`: the numbers of streams, and the definitions of declared ones. It allows readers to work without the
/// settings of the collector.
enum StreamTable {
    /// Returns the built-in streams and the declared streams of the store.
    /// - Throws: ``StoreError`` if a definition is invalid, for example after manual edits; ``SQLiteError``.
    static func catalog(in database: SQLiteDatabase) throws -> StreamCatalog {
        do {
            return try StreamCatalog(declared: declared(in: database))
        } catch let error as StreamDeclarationError {
            throw StoreError(.streams, "the table 'streams' of \(database.path) is invalid: \(error)")
        }
    }

    /// Adds or updates the definitions of `streams`. Call it within a transaction.
    /// - Throws: ``StoreError`` if a stream differs from the stored one or a table of that name exists; ``SQLiteError``.
    static func register(_ streams: [SensorStream], in database: SQLiteDatabase) throws {
        guard !streams.isEmpty else { return }
        let stored = try declared(in: database)
        let insert = try database.prepare(
            """
            INSERT INTO streams (name, table_name, definition) VALUES (?, ?, ?)
            ON CONFLICT (name) DO UPDATE SET definition = excluded.definition
            """)
        for stream in streams {
            let definition = StreamDefinition(stream).json
            if let known = stored.first(where: { $0.name == stream.name }) {
                if let difference = stream.difference(from: known) {
                    throw conflict(
                        stream, "\(difference). Restore the declaration, or use another stream name", database)
                }
                if StreamDefinition(known).json == definition { continue }
            } else if let other = stored.first(where: { $0.table == stream.table }) {
                throw conflict(
                    stream, "its table \(stream.table) belongs to the stream '\(other.name)'. Use another stream name",
                    database)
            } else if try !StoreSchema.columns(of: stream.table, in: database).isEmpty
                || !StoreSchema.columns(of: stream.rowTable, in: database).isEmpty
            {
                throw conflict(
                    stream,
                    "it already has a table \(stream.table), which Lockstep did not create. Rename that table, or use "
                        + "another stream name", database)
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

    private static func conflict(_ stream: SensorStream, _ reason: String, _ database: SQLiteDatabase) -> StoreError {
        StoreError(
            .streams, "the declaration of '\(stream.name)' does not match the store \(database.path): \(reason)",
            stream: stream.name)
    }

    private static func declared(in database: SQLiteDatabase) throws -> [SensorStream] {
        let select = try database.prepare(
            "SELECT name, definition FROM streams WHERE definition IS NOT NULL ORDER BY name")
        var streams: [SensorStream] = []
        while try select.step() {
            guard let name = select.text(at: 0), let text = select.text(at: 1) else { continue }
            do {
                streams.append(try StreamDefinition(json: text).stream(named: name))
            } catch {
                throw StoreError(
                    .streams,
                    "the definition of '\(name)' in the table 'streams' of \(database.path) is invalid: \(error)",
                    stream: name)
            }
        }
        return streams
    }
}
