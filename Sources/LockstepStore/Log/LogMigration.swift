import LockstepSQLite

/// The migration of the logs to tables with the key of ``LogKey``.
///
/// Their tables had no row ids and the key (turn, stream_id, device_id, t). When a page of such a table is full, SQLite
/// moves rows between the neighbouring pages, and so a commit rewrote earlier pages.
enum LogMigration {
    static func addKeys(to database: SQLiteDatabase) throws {
        // Without this, renaming a table would also rename it in views.
        try database.execute("PRAGMA legacy_alter_table = ON")
        defer { try? database.execute("PRAGMA legacy_alter_table = OFF") }
        for log in LogNumber.allCases {
            try database.execute(LogSpans.create(log))
            for shape in LogShape.allCases { try replace(shape, of: log, in: database) }
        }
        // A transaction with many rows takes several turns.
        try database.execute(
            """
            WITH RECURSIVE numbers (n) AS (
                SELECT \(LogSchema.maxTurns + 1) UNION ALL SELECT n + 1 FROM numbers WHERE n < \(LogKey.maxTurn)
            )
            INSERT INTO log_turns (turn) SELECT n FROM numbers
            """)
    }

    /// Renames the tables of clocks and states of schema 7, because not all of their rows are in them from now on.
    static func renameLedgers(in database: SQLiteDatabase) throws {
        // Without this, renaming a table would also rename it in views.
        try database.execute("PRAGMA legacy_alter_table = ON")
        defer { try? database.execute("PRAGMA legacy_alter_table = OFF") }
        for table in ["clocks", "states"] { try database.execute("ALTER TABLE \(table) RENAME TO merged_\(table)") }
        try ClockLog.addTables(to: database)
        // A reader may look at the store before its views are updated. The logs have no estimates yet.
        try database.execute("CREATE VIEW clocks AS SELECT * FROM merged_clocks")
        try database.execute(statesView.create)
    }

    /// Replaces the times of the rows by differences from a fixed time, which take two bytes less.
    static func shortenTimes(in database: SQLiteDatabase) throws {
        // Without this, renaming a table would also rename it in views.
        try database.execute("PRAGMA legacy_alter_table = ON")
        defer { try? database.execute("PRAGMA legacy_alter_table = OFF") }
        for log in LogNumber.allCases {
            for shape in LogShape.allCases {
                let table = shape.table(of: log)
                let columns = (["epoch_id", "seq", "delay"] + shape.columns).joined(separator: ", ")
                let objects = try UserObject.all(of: table, in: database)
                try database.execute(
                    """
                    ALTER TABLE \(table) RENAME TO old_\(table);
                    \(create(shape, of: log, time: shortTime));
                    INSERT INTO \(table) (id, after, \(columns))
                        SELECT id, t - \(DeviceSchema.reference), \(columns) FROM old_\(table) ORDER BY id;
                    DROP TABLE old_\(table);
                    """)
                for object in objects { try database.execute(object.sql) }
            }
        }
    }

    /// The time of a row as of schema 9.
    private static let shortTime = """
        after INTEGER NOT NULL, -- µs after 2023-11-14 22:13:20 UTC
            t INTEGER AS (after + \(DeviceSchema.reference)), -- time in µs since 1970-01-01 UTC
        """

    private static func replace(_ shape: LogShape, of log: LogNumber, in database: SQLiteDatabase) throws {
        let table = shape.table(of: log)
        let old = "old_\(table)"
        let columns = (["t", "epoch_id", "seq", "delay"] + shape.columns).joined(separator: ", ")
        try database.execute("ALTER TABLE \(table) RENAME TO \(old)")
        try database.execute(create(shape, of: log, time: "t INTEGER NOT NULL,"))
        // Each row gets its number among the rows of its device in the turn.
        let numbered = """
            SELECT *, row_number() OVER (PARTITION BY turn, stream_id, device_id ORDER BY t) - 1 AS row FROM \(old)
            """
        let outside = try database.integer(
            """
            SELECT count(*) FROM (\(numbered)) WHERE turn > \(LogKey.maxTurn) OR stream_id > \(LogKey.maxStream)
                OR device_id > \(LogKey.maxDevice) OR row >= \(LogKey.rowsPerTurn)
            """)
        guard outside == 0 else {
            throw StoreError(
                .schema,
                "\(outside) rows of the table \(table) of \(database.path) do not fit into the table of this version: stop "
                    + "a collector of the previous version cleanly with fewer than 20,000 rows in its logs")
        }
        let key = LogKey.firstSQL(turn: "turn", stream: "stream_id", device: "device_id")
        try database.execute(
            """
            INSERT INTO \(table) (id, \(columns)) SELECT \(key) + row, \(columns) FROM (\(numbered))
                ORDER BY turn, stream_id, device_id, t;
            INSERT OR IGNORE INTO \(log.spansTable) (span, first, last)
                SELECT DISTINCT turn / \(LogSpans.turns), \(Int64.min), \(Int64.max) FROM \(table);
            DROP TABLE \(old);
            """)
    }

    private static func create(_ shape: LogShape, of log: LogNumber, time: String) -> String {
        """
        CREATE TABLE \(shape.table(of: log)) (
            -- Samples in order of commit.
            id INTEGER PRIMARY KEY, -- turn, stream, device and a number, so that rows are only appended
            \(LogKey.columnsSQL)
            \(time)
            epoch_id INTEGER, -- in the first row of a numbered batch: its epoch, 0 for the first one, and number
            seq INTEGER,
            delay INTEGER, -- in the first row of a batch: time of receipt minus t, in µs
            \(shape.columns.joined(separator: ", "))
        )
        """
    }
}
