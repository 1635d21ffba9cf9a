public import LockstepModel
public import LockstepStore

/// Writes the refined data of one device to a ClickHouse database, beside running collectors.
///
/// The row of a run in `refined_runs` makes its rows valid. It is one row, so that readers see all of a run or nothing. The
/// views show a row unless a run that was completed later is valid for its time.
public final class ClickHouseRefinedRun: RefinedWriting {
    /// The number of rows of one insert.
    private static let maxRows = 20_000
    /// The age in µs from which a run without its row counts as interrupted. A run is not expected to take a day.
    private static let maxDuration: Int64 = 86_400_000_000

    private let client: ClickHouseClient
    private let kind: RefinedKind
    private let device: Int64
    private let run: Int64
    private let method: String
    private let version: Int
    private let parameters: String
    private let created: Int64

    /// Begins a run.
    /// - Parameter parameters: the parameters of the method, as JSON.
    /// - Throws: ``/LockstepStore/StoreError`` if the store cannot be written or the device is unknown.
    public init(
        _ address: ClickHouseAddress, device: DeviceAddress, kind: RefinedKind, method: String, version: Int,
        parameters: String, now: Timestamp
    ) throws(StoreError) {
        // The reader checks the store.
        client = try ClickHouseReader(address).client
        self.kind = kind
        self.method = method
        self.version = version
        self.parameters = parameters
        self.device = DeviceRecord.id(of: device)
        created = now.microseconds
        // Two runs that begin at the same time differ.
        run = now.microseconds << 10 | Int64.random(in: 0..<1024)
        guard try !DeviceRecord.readAll(client, id: self.device).isEmpty else {
            throw StoreError(.other, "no device '\(device)' in \(address)")
        }
        try createTables()
        try removeInvalidRows()
    }

    /// Creates the tables and views on each server.
    private func createTables() throws(StoreError) {
        let storage = ClickHouseSchema.StorageSettings(
            syncsInserts: false, replicatedDatabase: client.readsReplicas ? client.address.database : nil)
        let statements = RefinedTables.statements(of: kind, storage)
        for server in client.address.servers {
            do {
                let replica = try ClickHouseClient(client.address.on(server))
                for statement in statements { try replica.execute(statement) }
            } catch {
                // The next run creates the tables on a replica that is away.
                guard error.code == .unreachable, client.address.servers.count > 1 else { throw error }
            }
        }
    }

    public func write(_ rows: some Sequence<RefinedRow>) throws(StoreError) {
        var encoded = RowBinary()
        for row in rows {
            encoded.append(device)
            encoded.append(run)
            encoded.append(row.time)
            for (value, column) in zip(row.values, kind.definitions) {
                encoded.append(isNull: value.isNaN)
                guard !value.isNaN else { continue }
                if column.type.hasPrefix("INTEGER") { encoded.append(Int64(value)) } else { encoded.append(value) }
            }
            encoded.endRow()
            if encoded.count == Self.maxRows {
                try insert(encoded)
                encoded.removeAll()
            }
        }
        if !encoded.isEmpty { try insert(encoded) }
    }

    public func complete(first: Int64, last: Int64) throws(StoreError) {
        var row = RowBinary()
        row.append(device)
        row.append(kind.rawValue)
        row.append(run)
        row.append(method)
        row.append(Int64(version))
        row.append(parameters)
        row.append(created)
        // The order of the runs, also if the clock was set back since the last one.
        let newest = try client.rows(
            "SELECT max(completed) FROM refined_runs WHERE device_id = \(device) AND kind = '\(kind.rawValue)'"
        ).first?[0].flatMap { Int64($0) }
        row.append(max(Moment.now().wall.microseconds, (newest ?? 0) + 1))
        row.append(first)
        row.append(last)
        row.endRow()
        try client.insert(row.bytes, into: "refined_runs", columns: RefinedTables.runColumns)
        // The new rows are valid now. If this fails, the next run removes the replaced ones.
        try? removeInvalidRows()
    }

    public func discard() throws(StoreError) {
        let completed = try client.rows(
            "SELECT run_id FROM refined_runs WHERE device_id = \(device) AND run_id = \(run)")
        guard completed.isEmpty else { return }
        try remove([run])
    }

    private func insert(_ rows: RowBinary) throws(StoreError) {
        try client.insert(
            rows.bytes, into: kind.table, columns: ["device_id", "run_id", "t"] + kind.definitions.map(\.name))
    }

    /// Removes the rows of runs that were interrupted, or that later runs have replaced entirely.
    private func removeInvalidRows() throws(StoreError) {
        var stored = Set(
            try client.rows("SELECT DISTINCT run_id FROM \(kind.table) WHERE device_id = \(device)")
                .compactMap { $0[0].flatMap { Int64($0) } })
        guard !stored.isEmpty else { return }
        let runs = try client.rows(
            """
            SELECT run_id, first, last FROM refined_runs WHERE device_id = \(device) AND kind = '\(kind.rawValue)'
            ORDER BY completed DESC
            """)
        var covered = SequenceSet()
        for row in runs {
            guard let id = row[0].flatMap({ Int64($0) }), let first = row[1].flatMap({ Int64($0) }),
                let last = row[2].flatMap({ Int64($0) }), first < last
            else { continue }
            let isReplaced = covered.ranges.contains { $0.lowerBound <= first && last - 1 <= $0.upperBound }
            covered.insert(first...last - 1)
            if !isReplaced { stored.remove(id) }
        }
        let finished = Set(runs.compactMap { $0[0].flatMap { Int64($0) } })
        let invalid = stored.filter { finished.contains($0) || $0 >> 10 < created - Self.maxDuration }
        try remove(invalid.sorted())
    }

    private func remove(_ runs: [Int64]) throws(StoreError) {
        guard !runs.isEmpty else { return }
        let list = runs.map { "\($0)" }.joined(separator: ", ")
        try client.execute("ALTER TABLE \(kind.table) DELETE WHERE device_id = \(device) AND run_id IN (\(list))")
    }
}

/// The tables and views of refined data. They are created on first use.
enum RefinedTables {
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
            // A row is hidden if a later run is valid for its time. The function takes only arrays, as in the view states.
            """
            CREATE VIEW IF NOT EXISTS \(kind.rawValue)_refined AS
            SELECT group_name, device, device_id, t, \(names), method, version, run_id FROM (
            SELECT device_id, run_id, t, \(names), method, version FROM (
            SELECT device_id, run_id, t, \(names), method, version, firsts, lasts, dones,
            arrayMap(x -> t, firsts) AS times, arrayMap(x -> completed, firsts) AS owns FROM (
            SELECT device_id, run_id, t, \(names), method, version, completed, first, last
            FROM (SELECT device_id, run_id, t, \(names) FROM \(kind.table)
            ORDER BY device_id, run_id, t LIMIT 1 BY device_id, run_id, t)
            ANY INNER JOIN (SELECT device_id, run_id, method, version, completed, first, last FROM refined_runs
            WHERE kind = '\(kind.rawValue)') USING device_id, run_id)
            ANY LEFT JOIN (SELECT device_id, groupArray(first) AS firsts, groupArray(last) AS lasts,
            groupArray(completed) AS dones FROM refined_runs WHERE kind = '\(kind.rawValue)' GROUP BY device_id)
            USING device_id WHERE t >= first AND t < last)
            WHERE arrayExists((start, end, done, time, own) -> start <= time AND end > time AND done > own,
            firsts, lasts, dones, times, owns) = 0)
            ANY INNER JOIN (SELECT device_id, group_name, device FROM devices) USING device_id
            """,
        ]
    }
}
