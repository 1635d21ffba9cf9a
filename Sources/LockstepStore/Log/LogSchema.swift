import LockstepModel
import LockstepSQLite

/// The tables of the logs.
///
/// Rows of devices that send little are not written to the tables keyed by (device, time) at once: each row would
/// rewrite a page of its own. They are appended to a log, whose pages each commit fills. A log is merged into the
/// tables when it holds many rows per device. Views show the rows of both.
enum LogSchema {
    /// The number of turns from which a log accepts no other transaction.
    static let maxTurns: Int64 = 4096

    /// The statements that create the tables, as of schema 4. ``LogMigration`` replaces those of samples.
    static var create: [String] {
        var statements = [
            """
            CREATE TABLE logs (
                -- The logs: rows that are not in the tables merged_... yet. Views such as accelerometer show both.
                log INTEGER PRIMARY KEY, -- 1 or 2: the number in the names of the tables log1_... and log2_...
                first_device INTEGER NOT NULL -- rows of devices below this id are merged: ignore them
            )
            """,
            "INSERT INTO logs (log, first_device) VALUES (1, 0), (2, 0)",
            """
            CREATE TABLE log_turns (
                -- The numbers 1 to \(maxTurns). Joining it to a log finds the rows of one device in each turn by the primary key.
                turn INTEGER PRIMARY KEY
            )
            """,
            """
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < \(maxTurns))
            INSERT INTO log_turns (turn) SELECT n FROM numbers
            """,
            """
            CREATE TABLE log_streams (
                -- The streams in the logs.
                stream_id INTEGER PRIMARY KEY,
                name TEXT NOT NULL UNIQUE, -- motion/accelerometer, steps, ...
                shape TEXT NOT NULL, -- narrow or wide: the table
                columns TEXT NOT NULL -- names of the columns v1, v2, ...
            )
            """,
            """
            CREATE TABLE log_epochs (
                -- The epochs of batch numbers in the logs. An index would change a page for each new device.
                epoch_id INTEGER PRIMARY KEY,
                device_id INTEGER NOT NULL,
                epoch TEXT NOT NULL
            )
            """,
        ]
        for log in LogNumber.allCases {
            for shape in LogShape.allCases {
                statements.append(
                    """
                    CREATE TABLE \(shape.table(of: log)) (
                        -- Samples in order of commit.
                        turn INTEGER NOT NULL, -- number of the commit, from 1
                        stream_id INTEGER NOT NULL,
                        device_id INTEGER NOT NULL,
                        t INTEGER NOT NULL,
                        epoch_id INTEGER, -- in the first row of a numbered batch: its epoch and number
                        seq INTEGER,
                        delay INTEGER, -- in the first row of a batch: time of receipt minus t, in µs
                        \(shape.columns.joined(separator: ", ")),
                        PRIMARY KEY (turn, stream_id, device_id, t)
                    ) WITHOUT ROWID
                    """)
            }
            statements.append(
                """
                CREATE TABLE \(log.changesTable) (
                    -- Changes that the samples of the log do not show. An append to a table without a key of its own
                    -- changes the fewest pages.
                    turn INTEGER NOT NULL, -- number of the commit, from 1
                    device_id INTEGER NOT NULL,
                    epoch_id INTEGER NOT NULL, -- epoch of the batch numbers first to last; 0 without numbers
                    first INTEGER NOT NULL,
                    last INTEGER,
                    seen INTEGER, -- time of the last message, in µs since 1970-01-01 UTC, on the collector's clock
                    last_t INTEGER, -- time of the newest sample written to a table directly
                    samples INTEGER, -- samples written to a table directly
                    duplicates INTEGER,
                    conflicts INTEGER
                )
                """)
        }
        return statements
    }

    /// Registers a stream, or adds its new columns.
    /// - Returns: the place of the stream, or nil if it has too many columns or there are too many streams: all its rows
    ///   are written to its table.
    static func register(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) -> LogStream? {
        let names = stream.columns.map(\.name)
        guard var known = try find(stream, in: database) else {
            guard let shape = LogShape(fitting: names.count) else { return nil }
            let insert = try database.prepare(
                "INSERT OR IGNORE INTO log_streams (name, shape, columns) VALUES (?, ?, ?)")
            try insert.bind(stream.name, at: 1)
            try insert.bind(shape.rawValue, at: 2)
            try insert.bind(names.joined(separator: " "), at: 3)
            try insert.run()
            // It is registered, but its number is too high.
            guard database.changes > 0 else { return nil }
            let id = database.lastInsertRowID
            return id <= LogKey.maxStream ? LogStream(id: id, shape: shape, columns: names) : nil
        }
        let added = names.filter { !known.columns.contains($0) }
        guard !added.isEmpty, known.columns.count + added.count <= known.shape.values else { return known }
        known.columns += added
        let update = try database.prepare("UPDATE log_streams SET columns = ? WHERE stream_id = ?")
        try update.bind(known.columns.joined(separator: " "), at: 1)
        try update.bind(known.id, at: 2)
        try update.run()
        return known
    }

    /// Returns the place of a stream in the logs, or nil if it is not registered.
    static func find(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) -> LogStream? {
        let select = try database.prepare("SELECT stream_id, shape, columns FROM log_streams WHERE name = ?")
        try select.bind(stream.name, at: 1)
        guard try select.step(), select.int64(at: 0) <= LogKey.maxStream,
            let shape = select.text(at: 1).flatMap(LogShape.init)
        else { return nil }
        let columns = (select.text(at: 2) ?? "").split(separator: " ").map(String.init)
        return LogStream(id: select.int64(at: 0), shape: shape, columns: columns)
    }
}
