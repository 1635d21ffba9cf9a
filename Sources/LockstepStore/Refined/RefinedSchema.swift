import LockstepSQLite

/// The tables of refined data. They are created on first use, so that stores without refined data do not have them.
///
/// Rows belong to a run of `lockstep refine`. The ranges say which rows are valid: a run becomes valid, and replaces
/// previous ones, in one short transaction that changes only ranges.
enum RefinedSchema {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS refined_runs (
            -- One row per run of 'lockstep refine'.
            run_id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
            kind TEXT NOT NULL, -- attitude, steps or location
            device_id INTEGER NOT NULL REFERENCES _devices,
            method TEXT NOT NULL,
            version INTEGER NOT NULL, -- changes whenever the method's results change
            parameters TEXT NOT NULL, -- as JSON
            created INTEGER NOT NULL, -- in µs since 1970-01-01 UTC
            is_complete INTEGER NOT NULL DEFAULT 0
        )
        """,
        """
        CREATE TABLE IF NOT EXISTS _refined_ranges (
            -- Times for which the rows of a run are valid: from first (inclusive) to last (exclusive), in µs.
            run_id INTEGER NOT NULL REFERENCES refined_runs,
            first INTEGER NOT NULL,
            last INTEGER NOT NULL,
            PRIMARY KEY (run_id, first)
        ) WITHOUT ROWID
        """,
    ]

    /// Creates missing tables.
    static func create(in database: SQLiteDatabase) throws {
        try database.transaction {
            for table in tables + RefinedKind.allCases.flatMap(\.tables) { try database.execute(table) }
        }
    }
}
