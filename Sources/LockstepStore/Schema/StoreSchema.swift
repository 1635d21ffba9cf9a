import LockstepModel
import LockstepSQLite

/// The schema of a store: application id, schema version, tables and views.
enum StoreSchema {
    /// The `application_id` in the header of the file: `LKST` in ASCII.
    static let applicationID: Int32 = 0x4C4B_5354

    /// The size of a page of a new store, in bytes.
    ///
    /// Each commit and each merge of a device writes some pages of which only a part is new. With smaller pages this costs
    /// less, and queries take as long.
    static let pageSize = 2048

    /// Returns the size of a page of a new store. SQLite moves the end of a row of more than about a quarter of a page to a
    /// page of its own, so streams with many words need larger pages.
    static func pageSize(for streams: [SensorStream]) -> Int {
        let largest = streams.map { stream in
            stream.columns.reduce(20) { $0 + ($1.kind.words?.map(\.utf8.count).max() ?? 8) + 1 }
        }
        return (largest.max() ?? 0) > pageSize / 4 - 32 ? 4096 : pageSize
    }

    /// The migrations of a store. Views and the tables of streams are created separately.
    static let migrations = SchemaMigrations([
        { database in
            for statement in storeTables + eventTables { try database.execute(statement) }
            // With the tables, so that nobody can find a store without them.
            for view in storeViews { try database.execute(view.create) }
            try database.setApplicationID(applicationID)
        }
    ])

    /// Checks that a database is empty, or a store with a schema that this program supports.
    /// - Throws: ``StoreError``, `NewerSchemaError` or `SQLiteError`.
    static func checkIsStoreOrNew(_ database: SQLiteDatabase) throws {
        // A new store has its tables from the first page on.
        if try database.integer("PRAGMA page_count") > 0 { try checkApplicationID(database) }
        try migrations.check(database)
    }

    /// Creates the schema in an empty database, or migrates an older store.
    static func update(_ database: SQLiteDatabase, streams: [SensorStream]) throws {
        try migrations.apply(to: database)
        try database.transaction {
            try StreamTable.register(streams.filter(\.isDeclared), in: database)
            for stream in streams { try addColumns(of: stream, in: database) }
            for stream in streams { try stream.addMinuteColumns(in: database) }
            for view in storeViews { try replace(view, in: database) }
            // It may be missing in a file that was salvaged from a damaged one.
            try database.execute("INSERT INTO _merge SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM _merge)")
        }
    }

    /// Checks that a database opened for reading is a store that this program can read.
    /// - Throws: ``StoreError``, `NewerSchemaError` or `SQLiteError`.
    static func check(_ database: SQLiteDatabase) throws {
        try checkApplicationID(database)
        try migrations.check(database)
        let version = try database.userVersion
        guard version == migrations.version else {
            throw StoreError(
                .schema,
                "\(database.path) was written by an older version of Lockstep (schema \(version), this program needs "
                    + "\(migrations.version)): start the collector of this version once with this store")
        }
    }

    /// Returns the names of a table's columns, in their order, or an empty list if the table does not exist.
    static func columns(of table: String, in database: SQLiteDatabase) throws(SQLiteError) -> [String] {
        let statement = try database.prepare("SELECT name FROM pragma_table_info(?) ORDER BY cid")
        try statement.bind(table, at: 1)
        var names: [String] = []
        while try statement.step() {
            if let name = statement.text(at: 0) { names.append(name) }
        }
        return names
    }

    private static func checkApplicationID(_ database: SQLiteDatabase) throws {
        guard try database.applicationID != applicationID else { return }
        let hasTables = try database.integer("SELECT count(*) FROM sqlite_schema") > 0
        throw StoreError(
            .notAStore,
            hasTables
                ? "\(database.path) is an SQLite database but not a Lockstep store: choose another file"
                : "\(database.path) is an SQLite database without any table, not a store. If it is a copy of a store, its "
                    + "tables are in the file …-wal of the original: copy with 'lockstep backup'. Otherwise delete the file, "
                    + "or choose another one")
    }

    /// Adds the missing columns of a stream's table, if the table exists.
    private static func addColumns(of stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        let present = try columns(of: stream.rowTable, in: database)
        guard !present.isEmpty else { return }
        let missing = stream.columns.filter { !present.contains($0.name) }
        guard !missing.isEmpty else { return }
        // SQLite refuses to alter a table while a view does not match it.
        let showsWaiting = try storedSQL(of: stream.table, in: database)?.contains("_waiting") ?? false
        try database.execute("DROP VIEW IF EXISTS \(stream.table)")
        for column in missing {
            try database.execute(
                "ALTER TABLE \(stream.rowTable) ADD COLUMN \(column.name) \(column.kind.sqlType) /* \(column.comment) */"
            )
        }
        if showsWaiting, let id = try StreamTable.id(of: stream, in: database),
            let order = try RowColumns(of: stream, in: database)?.order
        {
            try replace(stream.waitingView(id: id, order: order), in: database)
        } else {
            try replace(stream.plainView, in: database)
        }
    }

    /// Lets the views of a store that nobody writes to show the tables alone of which no samples wait.
    static func showTablesOnly(in database: SQLiteDatabase) throws {
        try database.transaction {
            for stream in try StreamDefinition.catalog(SQLiteSource(database)).streams {
                guard let id = try StreamTable.id(of: stream, in: database),
                    let columns = try RowColumns(of: stream, in: database),
                    // The collector of this version has not added its columns yet.
                    stream.columns.allSatisfy({ columns.order.contains($0.name) }),
                    try database.integer("SELECT count(*) FROM _waiting WHERE stream_id = \(id) AND rows IS NOT NULL")
                        == 0
                else { continue }
                try replace(stream.plainView, in: database)
            }
        }
    }

    /// Creates a view, or replaces it if its definition differs.
    static func replace(_ view: View, in database: SQLiteDatabase) throws(SQLiteError) {
        let stored = try storedSQL(of: view.name, in: database)
        guard stored != view.create else { return }
        if stored != nil { try database.execute("DROP VIEW \(view.name)") }
        try database.execute(view.create)
    }

    /// Returns the SQL of a table or view, or nil if it does not exist.
    static func storedSQL(of name: String, in database: SQLiteDatabase) throws(SQLiteError) -> String? {
        let statement = try database.prepare("SELECT sql FROM sqlite_schema WHERE name = ?")
        try statement.bind(name, at: 1)
        return try statement.step() ? statement.text(at: 0) : nil
    }
}
