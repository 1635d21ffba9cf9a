import LockstepModel
import LockstepSQLite

/// The tables of the logs for estimates of devices' clocks.
///
/// Each device sends an estimate every 30 s. In the table keyed by (device, collector, epoch, time), each of them would
/// rewrite a page of its own. They are appended to a log and merged with the samples.
enum ClockLog {
    /// The number by which a ``LogIndex`` knows the estimates. It is not the index of a stream's table.
    static let table = -1
    /// The stream in the keys of the estimates. They have tables of their own, so the streams of samples do not matter.
    static let stream: Int64 = 0
    /// The number of columns besides device and time.
    static let columnCount = 7

    /// The columns of an estimate that are equal in the logs and in the table.
    private static let values = ["t", "segment", "offset", "skew", "bound", "skew_bound"]

    /// Creates the tables of the logs.
    static func addTables(to database: SQLiteDatabase) throws {
        for log in LogNumber.allCases { try database.execute(create(log.clocksTable, key: LogKey.columnsSQL)) }
    }

    /// Returns the statement that creates a table of estimates.
    /// - Parameter key: the columns that are computed from its key.
    static func create(_ table: String, key: String) -> String {
        """
        CREATE TABLE \(table) (
            -- Estimates of devices' clocks that are not merged yet. See the view clocks.
            id INTEGER PRIMARY KEY, -- so that rows are only appended
            \(key)
            epoch_id INTEGER NOT NULL,
            collector TEXT NOT NULL,
            t INTEGER NOT NULL,
            segment INTEGER NOT NULL,
            offset INTEGER NOT NULL,
            skew REAL NOT NULL,
            bound INTEGER NOT NULL,
            skew_bound REAL NOT NULL
        )
        """
    }

    /// Returns the key of an estimate.
    static func key(turn: Int64, device: Int64, row: Int) -> Int64 {
        LogKey.first(turn: turn, stream: stream, device: device) + Int64(row)
    }

    /// The statement that adds an estimate to a log: key, epoch, collector, and the other columns.
    static func insertSQL(_ log: LogNumber) -> String {
        """
        INSERT INTO \(log.clocksTable) (id, epoch_id, collector, \(values.joined(separator: ", ")))
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    }

    /// The statement that finds an estimate in a log or in the runs, from its keys, epoch, collector and time.
    static func findSQL(_ source: RowSource) -> String {
        "SELECT 1 FROM \(source.clocksTable) WHERE id BETWEEN ? AND ? AND epoch_id = ? AND collector = ? AND t = ?"
    }

    /// The statement that merges the estimates of a device in one turn or run, from their keys. Those of a device whose
    /// row a user has deleted have no epoch any more and are left out.
    static func mergeSQL(_ source: RowSource) -> String {
        let columns = values.joined(separator: ", ")
        return """
            INSERT INTO merged_clocks (device_id, collector, epoch, \(columns))
            SELECT clock.device_id, collector, \(EpochTable.epochSQL(of: "clock")) AS epoch, \(columns)
            FROM \(source.clocksTable) AS clock WHERE id BETWEEN ? AND ? AND epoch IS NOT NULL
            ON CONFLICT DO NOTHING
            """
    }

    /// The columns that a move to a run copies.
    static let movedColumns = ["epoch_id", "collector"] + values

    /// Returns a SELECT of the columns `device_id`, `collector`, `t`, `segment`, `offset`, `skew`, `bound` and
    /// `skew_bound` of the estimates in the logs, of device `?1` or of all devices.
    static func selectSQL(ofDevice: Bool) -> String {
        LogNumber.allCases.map { log in
            let source = RowSource.log(log)
            guard ofDevice else {
                return "SELECT \(columns) FROM \(log.clocksTable) AS clock WHERE \(log.isVisible())"
            }
            return selectOfDevice(source)
        }.joined(separator: "\nUNION ALL\n")
    }

    /// Returns the same SELECT of the estimates of device `?1` in the runs.
    static var selectRunsSQL: String { selectOfDevice(.runs) }

    private static let columns = "clock.device_id, collector, \(values.joined(separator: ", "))"

    private static func selectOfDevice(_ source: RowSource) -> String {
        let table = source.clocksTable
        return """
            SELECT \(columns) FROM \(source.partsTable) CROSS JOIN \(table) AS clock
                ON clock.id BETWEEN \(source.keysSQL(stream: "\(stream)", device: "?1"))
            WHERE \(source.partsSQL(of: stream, in: table)) AND \(source.isVisible("?1"))
            """
    }

    /// The view with the documented name.
    static var view: View {
        let sources = RowSource.all.map { source in
            // As in the views of samples: the second range is used if a condition of the query sets the device.
            let table = source.clocksTable
            return """
                UNION ALL SELECT clock.device_id, collector, \(EpochTable.epochSQL(of: "clock")), \(values.joined(separator: ", "))
                FROM \(source.partsTable) CROSS JOIN \(table) AS clock NOT INDEXED
                    ON clock.id BETWEEN \(source.keysOfAllSQL(stream: stream))
                    AND clock.id BETWEEN \(source.keysSQL(stream: "\(stream)", device: "clock.device_id"))
                    AND \(source.isVisible("+clock.device_id"))
                WHERE \(source.partsSQL(of: stream, in: table))
                """
        }
        return View(
            name: "clocks",
            select: """
                -- Estimates of devices' clocks, linear in between. See docs/clock.md and the view v_clocks.
                SELECT device_id,
                    collector, -- id of the collector whose clock is the reference
                    epoch, -- epoch of the agent's outbox
                    t, -- time of the estimate on the device's time line, in µs since 1970-01-01 UTC
                    segment, -- time of the first estimate since a clock was stepped or a machine suspended
                    offset, -- device's time minus collector's time, in µs
                    skew, -- change of the offset, in ppm
                    bound, -- largest possible error of the offset, in µs
                    skew_bound -- largest possible error of the skew, in ppm
                FROM merged_clocks
                \(sources.joined(separator: "\n"))
                """)
    }
}
