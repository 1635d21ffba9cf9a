import LockstepModel
import LockstepSQLite

/// The schema of a store: application id, schema version, tables and views.
enum StoreSchema {
    /// The `application_id` in the header of the file: `LKST` in ASCII.
    static let applicationID: Int32 = 0x4C4B_5354

    /// The size of a page of a new store, in bytes; stores of earlier versions have pages of 4096 bytes.
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

    /// The migrations of a store. Views and the tables of streams are created separately by ``update(_:streams:)``.
    static let migrations = SchemaMigrations([
        { database in
            for table in baseTables { try database.execute(table) }
            try database.setApplicationID(applicationID)
        },
        { database in
            try database.execute(
                "ALTER TABLE devices ADD COLUMN session_epoch TEXT /* epoch of the session */")
        },
        { database in try database.execute(StreamTable.create) },
        { database in try addLogs(to: database) },
        { database in try database.execute(ClockTable.create) },
        { database in for table in eventTables { try database.execute(table) } },
        { database in try LogMigration.addKeys(to: database) },
        { database in try LogMigration.renameLedgers(in: database) },
        { database in
            try DeviceMigration.shorten(in: database)
            try LogMigration.shortenTimes(in: database)
        },
        { database in try RunSchema.create(in: database) },
        // Since schema 11, new columns of real numbers are those of ``MergedColumns``, which older versions cannot write.
        { _ in },
        { database in for table in [EpochReportTable.create, StoreFile.create] { try database.execute(table) } },
    ])

    /// Migrates schema 3, in which each row was written to the table of its stream at once.
    private static func addLogs(to database: SQLiteDatabase) throws {
        // Renaming a table would also rename it in views, but those of users must show the new views of the same names.
        // Dropping a view also drops its triggers.
        let isView = "type = 'view'"
        let isTrigger = "type = 'trigger' AND tbl_name IN (SELECT name FROM sqlite_schema WHERE \(isView))"
        let views = try values("sql", in: database, where: isView) + values("sql", in: database, where: isTrigger)
        for view in try values("name", in: database, where: isView) { try database.execute("DROP VIEW \"\(view)\"") }
        let builtIn = [
            "accelerometer", "gyroscope", "magnetometer", "device_motion", "orientation", "steps", "location",
            "pressure", "altitude", "heading", "battery",
        ]
        let list = builtIn.map { "'\($0)'" }.joined(separator: ", ")
        let tables = try values(
            "name", in: database,
            where: "type = 'table' AND (name IN (\(list)) OR name IN (SELECT table_name FROM streams))")
        for table in ["devices", "batches"] + tables {
            try database.execute("ALTER TABLE \(table) RENAME TO merged_\(table)")
            // A reader may look at the store before ``update(_:streams:)`` replaces this view.
            try database.execute("CREATE VIEW \(table) AS SELECT * FROM merged_\(table)")
        }
        for statement in LogSchema.create { try database.execute(statement) }
        for sql in views { try database.execute(sql) }
    }

    private static func values(
        _ column: String, in database: SQLiteDatabase, where condition: String
    ) throws(SQLiteError) -> [String] {
        let select = try database.prepare("SELECT \(column) FROM sqlite_schema WHERE \(condition)")
        var values: [String] = []
        while try select.step() {
            if let value = select.text(at: 0) { values.append(value) }
        }
        return values
    }

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
            let samples = try streams.map { stream in
                let present = try columns(of: stream.mergedTable, in: database)
                return try stream.samplesView(LogSchema.register(stream, in: database), mergedColumns: present)
            }
            let views = samples + streams.map(\.view) + ledgerViews + baseViews + eventViews
            // Drop outdated views first: SQLite refuses to alter a table while a view does not match it.
            for view in views { try dropIfChanged(view, in: database) }
            for stream in streams { try updateTable(of: stream, in: database) }
            for view in views where try storedSQL(of: view.name, in: database) == nil {
                try database.execute(view.create)
            }
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

    /// Returns the names of a table's columns, or an empty set if the table does not exist.
    static func columns(of table: String, in database: SQLiteDatabase) throws(SQLiteError) -> Set<String> {
        let statement = try database.prepare("SELECT name FROM pragma_table_info(?)")
        try statement.bind(table, at: 1)
        var names: Set<String> = []
        while try statement.step() {
            if let name = statement.text(at: 0) { names.insert(name) }
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

    /// Creates the table of `stream`, or adds its missing columns.
    private static func updateTable(of stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        let present = try columns(of: stream.mergedTable, in: database)
        if present.isEmpty {
            try database.execute(stream.createTable)
            return
        }
        for column in stream.columns
        where !present.contains(column.name) && !(column.kind == .real && present.contains(column.storedName)) {
            let definition = column.mergedDefinition
            try database.execute(
                "ALTER TABLE \(stream.mergedTable) ADD COLUMN \(definition.sql) /* \(definition.comment) */")
        }
    }

    private static func dropIfChanged(_ view: View, in database: SQLiteDatabase) throws(SQLiteError) {
        guard let stored = try storedSQL(of: view.name, in: database), stored != view.create else { return }
        try database.execute("DROP VIEW \(view.name)")
    }

    /// Returns the SQL of a table or view, or nil if it does not exist.
    private static func storedSQL(of name: String, in database: SQLiteDatabase) throws(SQLiteError) -> String? {
        let statement = try database.prepare("SELECT sql FROM sqlite_schema WHERE name = ?")
        try statement.bind(name, at: 1)
        return try statement.step() ? statement.text(at: 0) : nil
    }
}
