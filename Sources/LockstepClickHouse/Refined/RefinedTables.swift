import LockstepStore

/// The tables and views of refined data. They are created on first use.
enum RefinedTables {
    /// The names of all tables.
    static let names = Set(["refined_runs"] + RefinedKind.allCases.map(\.table))
    /// The columns of `refined_runs`.
    static let runColumns = [
        "device_id", "kind", "run_id", "method", "version", "parameters", "created", "completed", "first", "last",
    ]

    /// Returns the statements that create what a kind needs.
    static func statements(of kind: RefinedKind, _ storage: ClickHouseSchema.StorageSettings) -> [String] {
        let columns = kind.definitions.map { column in
            "\(column.name) Nullable(\(column.type.hasPrefix("INTEGER") ? "Int64" : "Float64"))"
        }
        let names = kind.definitions.map(\.name).joined(separator: ", ")
        return [
            """
            CREATE TABLE IF NOT EXISTS refined_runs (
                device_id Int64, kind String, run_id Int64, method String, version Int64, parameters String,
                created Int64, completed Int64, first Int64, last Int64
            ) ENGINE = \(storage.engine("ReplacingMergeTree", of: "refined_runs")) ORDER BY (device_id, kind, run_id)
            """,
            """
            CREATE TABLE IF NOT EXISTS \(kind.table) (
                device_id Int64, run_id Int64, t Int64, \(columns.joined(separator: ", "))
            ) ENGINE = \(storage.engine("ReplacingMergeTree", of: kind.table)) ORDER BY (device_id, run_id, t)
            """,
            // Not ANY INNER JOIN: since ClickHouse 20, it keeps only one row of each key.
            // A row is hidden if a later run is valid for its time. The function takes only arrays, as in the view states.
            """
            CREATE VIEW IF NOT EXISTS \(kind.rawValue)_refined AS
            SELECT group_name, device, device_id, t, \(names), method, version, run_id FROM (
            SELECT device_id, run_id, t, \(names), method, version FROM (
            SELECT device_id, run_id, t, \(names), method, version, firsts, lasts, dones,
            arrayMap(x -> t, firsts) AS times, arrayMap(x -> completed, firsts) AS owns FROM (
            SELECT device_id, run_id, t, \(names), method, version, completed, first, last
            FROM (SELECT device_id, run_id, t, \(names) FROM \(kind.table)
            ORDER BY device_id, run_id, t LIMIT 1 BY device_id, run_id, t) AS rows_once
            ALL INNER JOIN (SELECT device_id, run_id, method, version, completed, first, last FROM refined_runs
            WHERE kind = '\(kind.rawValue)' LIMIT 1 BY device_id, run_id) AS runs USING device_id, run_id) AS rows_of_runs
            ANY LEFT JOIN (SELECT device_id, groupArray(first) AS firsts, groupArray(last) AS lasts,
            groupArray(completed) AS dones FROM refined_runs WHERE kind = '\(kind.rawValue)' GROUP BY device_id) AS all_runs
            USING device_id WHERE t >= first AND t < last)
            WHERE arrayExists((start, end, done, time, own) -> start <= time AND end > time AND done > own,
            firsts, lasts, dones, times, owns) = 0) AS valid
            ALL INNER JOIN (SELECT device_id, group_name, device FROM devices) AS named USING device_id
            """,
        ]
    }
}
