import LockstepSQLite

/// The tables of the runs.
///
/// If a log has few rows of each device, a merge would rewrite a page for each of them. Such rows are moved to a run, in
/// the order of device and stream. Several runs are merged into the tables together.
enum RunSchema {
    /// Creates the tables, as of schema 10.
    static func create(in database: SQLiteDatabase) throws {
        try database.execute(
            """
            CREATE TABLE log_runs (
                -- The streams of each run.
                run INTEGER NOT NULL, -- number of the run, from 1
                stream_id INTEGER NOT NULL, -- see log_streams; 0: estimates of clocks
                devices INTEGER NOT NULL, -- number of devices with rows
                rows INTEGER NOT NULL,
                first INTEGER NOT NULL, -- time of the oldest row, in µs since 1970-01-01 UTC
                last INTEGER NOT NULL, -- time of the newest row
                PRIMARY KEY (run, stream_id)
            ) WITHOUT ROWID
            """)
        for shape in LogShape.allCases {
            try database.execute(
                """
                CREATE TABLE \(RowSource.runs.table(shape)) (
                    -- Samples in order of run, device and stream.
                    id INTEGER PRIMARY KEY, -- run, device, stream and a number, so that rows are only appended
                    \(RunKey.columnsSQL)
                    after INTEGER NOT NULL, -- µs after 2023-11-14 22:13:20 UTC
                    t INTEGER AS (after + \(DeviceSchema.reference)), -- time in µs since 1970-01-01 UTC
                    \(shape.columns.joined(separator: ", "))
                )
                """)
        }
        try database.execute(ClockLog.create(RowSource.runs.clocksTable, key: RunKey.columnsSQL))
        try database.execute("INSERT INTO logs (log, first_device) VALUES (\(RowSource.runsNumber), 0)")
    }
}
