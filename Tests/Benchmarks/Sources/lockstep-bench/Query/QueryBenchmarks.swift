import Foundation

/// Common queries of a large store, compared with the sqlite3 shell. The CSV output is discarded.
struct QueryBenchmarks {
    /// Folder of the built programs.
    let programs: String
    let store: QueryStore
    let rounds: Int

    private static let metrics = [
        Metric(name: "time", unit: "s", digits: 3), Metric(name: "memory", unit: "MB", digits: 1),
    ]

    /// One measurement for each kind of query.
    var parts: [() throws -> [Comparison]] { [hour, last, minutes, ownSQL] }

    /// One hour of one device, 360,000 rows. The reference prints the same text; another side prints only numbers.
    private func hour() throws -> [Comparison] {
        let end = QueryStore.start + 3_600_000_000
        let bounds = "t >= \(QueryStore.start) AND t < \(end)"
        return try compare(
            "query-hour", Self.metrics, rounds: rounds,
            [
                lockstep(["--device", QueryStore.longest, "--from", "\(QueryStore.start)", "--to", "\(end)"]),
                sqlite(
                    "sqlite3, numbers only",
                    "SELECT t, x, y, z FROM accelerometer WHERE device_id = 1 AND \(bounds) ORDER BY t"),
                sqlite(
                    "sqlite3, the same text",
                    """
                    SELECT group_name, device, t, \(Self.isoTime("t")), x, y, z
                    FROM accelerometer JOIN _devices USING (device_id)
                    WHERE device = '\(QueryStore.longest)' AND \(bounds) ORDER BY t
                    """),
            ])
    }

    /// The newest sample of each device.
    private func last() throws -> [Comparison] {
        try compare(
            "query-last", Self.metrics, rounds: rounds,
            [
                lockstep(["--last"]),
                sqlite(
                    "sqlite3, max(t) of each device",
                    """
                    SELECT group_name, device, t, \(Self.isoTime("t")), x, y, z
                    FROM _devices CROSS JOIN accelerometer AS sample USING (device_id)
                    WHERE t = (SELECT max(t) FROM accelerometer WHERE device_id = _devices.device_id)
                    ORDER BY group_name, device
                    """),
            ])
    }

    /// Averages per minute of the device with most rows.
    private func minutes() throws -> [Comparison] {
        try compare(
            "query-minutes", Self.metrics, rounds: rounds,
            [
                lockstep(["--device", QueryStore.longest, "--every", "1m"]),
                sqlite(
                    "sqlite3, GROUP BY",
                    """
                    SELECT group_name, device, start, \(Self.isoTime("start")), x, y, z, minute.samples FROM (
                        SELECT device_id, t / 60000000 * 60000000 AS start, avg(x) AS x, avg(y) AS y, avg(z) AS z,
                            count(*) AS samples
                        FROM accelerometer WHERE device_id = 1 GROUP BY start
                    ) AS minute JOIN devices USING (device_id)
                    """),
            ])
    }

    /// A person's own SQL through the view, compared with a plain table that has the same rows of the device.
    private func ownSQL() throws -> [Comparison] {
        try withFolder { folder in
            let plain = folder + "/plain.db"
            try Launched.run(
                "sqlite3",
                [
                    "-bail", plain,
                    """
                    PRAGMA page_size = 2048; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
                    ATTACH '\(store.path)' AS store;
                    CREATE TABLE plain (device_id INTEGER, t INTEGER, x REAL, y REAL, z REAL, PRIMARY KEY (device_id, t))
                        WITHOUT ROWID;
                    INSERT INTO plain SELECT device_id, t, x, y, z FROM store._accelerometer WHERE device_id = 1;
                    """,
                ])
            return try [("avg(x)", "avg"), ("max(t)", "max")].flatMap { value, name in
                try compare(
                    "query-own-\(name)", Self.metrics, rounds: rounds,
                    [
                        contender(
                            "view",
                            [
                                "sqlite3", "-readonly", store.path,
                                "SELECT \(value) FROM accelerometer WHERE device_id = 1",
                            ]),
                        contender(
                            "plain table",
                            ["sqlite3", "-readonly", plain, "SELECT \(value) FROM plain WHERE device_id = 1"]),
                    ])
            }
        }
    }

    /// SQL for a time as ISO 8601.
    private static func isoTime(_ column: String) -> String {
        "strftime('%Y-%m-%dT%H:%M:%S', \(column) / 1000000, 'unixepoch') || printf('.%06dZ', \(column) % 1000000)"
    }

    private func lockstep(_ arguments: [String]) -> Contender {
        contender(
            "lockstep query",
            [programs + "/lockstep", "query", "accelerometer", "--store", "sqlite:" + store.path, "--csv"] + arguments)
    }

    private func sqlite(_ name: String, _ sql: String) -> Contender {
        contender(name, ["sqlite3", "-readonly", "-csv", "-header", store.path, sql])
    }

    private func contender(_ name: String, _ command: [String]) -> Contender {
        Contender(name: name) {
            let effort = try Launched.time(Launched.beside("run-measured"), command)
            return [effort.seconds, Double(effort.count) / 1e6]
        }
    }
}
