/// A kind of refined data.
public enum RefinedKind: String, Sendable, CaseIterable {
    case attitude, steps, location

    /// The table of the rows of all runs.
    package var table: String { "\(rawValue)_refined_rows" }
    /// The table of the rows of all runs in an SQLite store.
    var rowTable: String { "_\(rawValue)_refined" }

    /// The number of columns after the run and the time.
    var columns: Int { definitions.count }

    /// The table and the view of its valid rows.
    var tables: [String] {
        let columns = definitions.map { "    \($0.name) \($0.type), -- \($0.comment)" }.joined(separator: "\n")
        return [
            """
            CREATE TABLE IF NOT EXISTS \(rowTable) (
                -- Rows of all runs, also incomplete ones. The view \(rawValue)_refined shows the valid rows.
                run_id INTEGER NOT NULL REFERENCES refined_runs,
                t INTEGER NOT NULL, -- in µs since 1970-01-01 UTC
            \(columns)
                PRIMARY KEY (run_id, t)
            ) WITHOUT ROWID
            """,
            """
            CREATE VIEW IF NOT EXISTS \(rawValue)_refined AS
            SELECT group_name, device, device_id, sample.t AS t, \(definitions.map(\.name).joined(separator: ", ")),
                method, version, run_id
            FROM refined_runs JOIN _refined_ranges USING (run_id) JOIN _devices USING (device_id)
                JOIN \(rowTable) AS sample USING (run_id)
            WHERE kind = '\(rawValue)' AND is_complete = 1 AND sample.t >= first AND sample.t < last
            """,
        ]
    }

    /// The columns after the run and the time, with their types in SQLite.
    package var definitions: [(name: String, type: String, comment: String)] {
        switch self {
        case .attitude:
            [
                ("qw", "REAL NOT NULL", "from the device to the frame, z up"), ("qx", "REAL NOT NULL", "as above"),
                ("qy", "REAL NOT NULL", "as above"), ("qz", "REAL NOT NULL", "as above"),
                ("bx", "REAL NOT NULL", "bias of the gyroscope, in rad/s"), ("by", "REAL NOT NULL", "as above"),
                ("bz", "REAL NOT NULL", "as above"), ("bias_sigma", "REAL NOT NULL", "in rad/s"),
                ("rest", "INTEGER NOT NULL", "1 at rest"),
                ("disturbed", "INTEGER NOT NULL", "1 if the magnetic field is disturbed or unknown"),
            ]
        case .steps:
            [
                ("start", "INTEGER NOT NULL", "the time of the previous step, in µs since 1970-01-01 UTC"),
                ("walk", "INTEGER NOT NULL", "the time of the first step of the walk, in µs since 1970-01-01 UTC"),
                ("distance", "REAL NOT NULL", "the length of the step, in m"),
                ("cadence", "REAL NOT NULL", "in steps/s"),
            ]
        case .location:
            [
                ("lat", "REAL NOT NULL", "in degrees, north positive, WGS 84"),
                ("lon", "REAL NOT NULL", "in degrees, east positive"),
                ("hacc", "REAL NOT NULL", "horizontal accuracy in m, 95 %"),
                ("speed", "REAL NOT NULL", "speed over ground, in m/s"),
                ("course", "REAL", "in degrees clockwise from true north; null at rest"),
                ("fix", "INTEGER NOT NULL", "1 if the receiver had a fix at this time, 0 between fixes"),
                ("rejected", "INTEGER NOT NULL", "1 if that fix was rejected as an outlier"),
            ]
        }
    }
}
