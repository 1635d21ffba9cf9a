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
            kind TEXT NOT NULL, -- attitude
            device_id INTEGER NOT NULL REFERENCES merged_devices,
            method TEXT NOT NULL,
            version INTEGER NOT NULL, -- changes whenever the method's results change
            parameters TEXT NOT NULL, -- as JSON
            created INTEGER NOT NULL, -- in µs since 1970-01-01 UTC
            is_complete INTEGER NOT NULL DEFAULT 0
        )
        """,
        """
        CREATE TABLE IF NOT EXISTS refined_ranges (
            -- Times for which the rows of a run are valid: from first (inclusive) to last (exclusive), in µs.
            run_id INTEGER NOT NULL REFERENCES refined_runs,
            first INTEGER NOT NULL,
            last INTEGER NOT NULL,
            PRIMARY KEY (run_id, first)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE IF NOT EXISTS attitude_refined_rows (
            -- Rows of all runs, also incomplete ones. The view attitude_refined shows the valid rows.
            run_id INTEGER NOT NULL REFERENCES refined_runs,
            t INTEGER NOT NULL, -- in µs since 1970-01-01 UTC
            qw REAL NOT NULL, -- from the device to the frame, z up
            qx REAL NOT NULL,
            qy REAL NOT NULL,
            qz REAL NOT NULL,
            bx REAL NOT NULL, -- bias of the gyroscope, in rad/s
            by REAL NOT NULL,
            bz REAL NOT NULL,
            bias_sigma REAL NOT NULL, -- in rad/s
            rest INTEGER NOT NULL, -- 1 at rest
            disturbed INTEGER NOT NULL, -- 1 if the magnetic field is disturbed or unknown
            PRIMARY KEY (run_id, t)
        ) WITHOUT ROWID
        """,
        """
        CREATE VIEW IF NOT EXISTS attitude_refined AS
        SELECT group_name, device, device_id, sample.t AS t, qw, qx, qy, qz, bx, by, bz, bias_sigma, rest, disturbed,
            method, version, run_id
        FROM refined_runs JOIN refined_ranges USING (run_id) JOIN merged_devices USING (device_id)
            JOIN attitude_refined_rows AS sample USING (run_id)
        WHERE kind = 'attitude' AND is_complete = 1 AND sample.t >= first AND sample.t < last
        """,
    ]

    /// Creates missing tables.
    static func create(in database: SQLiteDatabase) throws {
        try database.transaction { for table in tables { try database.execute(table) } }
    }
}
