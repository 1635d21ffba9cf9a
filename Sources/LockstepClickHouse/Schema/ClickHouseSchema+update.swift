import LockstepModel
import LockstepStore

extension ClickHouseSchema {
    /// Creates the database and the tables that are independent of the streams, if they do not exist.
    /// - Throws: ``/LockstepStore/StoreError`` also if the tables exist and are replicated, and should not be, or vice versa.
    func createTables(_ client: ClickHouseClient, database: String) throws(StoreError) {
        let databases = try client.rows(
            "SELECT name FROM system.databases WHERE name = '\(database)'", inDatabase: false)
        if databases.isEmpty { try client.execute("CREATE DATABASE IF NOT EXISTS \(database)", inDatabase: false) }
        if let isReplicated = try client.hasReplicatedTables(), isReplicated != (storage.replicatedDatabase != nil) {
            throw StoreError(
                .schema,
                isReplicated
                    ? "the tables of \(client.address) are replicated: add --quorum majority, and all replicas to the address"
                    : "the tables of \(client.address) are not replicated: use a new database, or leave out --quorum and "
                        + "give one host")
        }
        for table in baseTables { try client.execute(table) }
    }

    /// Creates the tables of the streams and the views that do not exist, and adds the columns that streams have gained.
    ///
    /// Other collectors may do the same at the same time, and each step may be the last one before this program or the server
    /// is killed. So every statement may be repeated, and nobody drops a view that another one has just created: the row in
    /// `lockstep_schema` comes before the views.
    /// - Throws: ``/LockstepStore/StoreError`` if a newer program wrote the store, or a column has another type.
    func update(_ client: ClickHouseClient, database: String) throws(StoreError) {
        // Before the row is read, so that views without a row are those of an earlier version.
        let found = try tables(client)
        let stored = try client.rows("SELECT version, views, at FROM lockstep_schema ORDER BY at DESC LIMIT 1").first
        let version = stored?[0].flatMap { Int($0) } ?? 0
        guard version <= Self.version else {
            throw StoreError(
                .schema, "the database \(database) was written by a newer version of Lockstep: update this program")
        }
        try StreamDefinition.register(streams.filter(\.isDeclared), in: client)
        for stream in streams {
            if found[stream.receivedTable] == nil { try client.execute(stream.createReceivedTable(storage)) }
            if found[stream.minuteTable] == nil { try client.execute(stream.createMinuteTable(storage)) }
            do { try addColumns(of: stream, to: found, client) } catch {
                guard error.code == .server else { throw error }
                // Another collector may have added them since.
                try addColumns(of: stream, to: tables(client), client)
            }
        }
        try syncTables(client)
        // The server does not keep the text of a view unchanged, so that the texts cannot be compared.
        let fingerprint = views.reduce(into: StableHash()) { $0.combine("\($1.name)\n\($1.select)\n") }.value
        let isCurrent = version == Self.version && stored?[1] == "\(fingerprint)"
        if !isCurrent {
            for (name, _) in views where found[name] != nil { try client.execute("DROP TABLE IF EXISTS \(name)") }
            // The newest row counts, also after the clock was ahead.
            let at = max(Moment.now().wall.microseconds, stored?[2].flatMap { Int64($0) }.map { $0 + 1 } ?? 0)
            try client.execute("INSERT INTO lockstep_schema VALUES (\(Self.version), \(fingerprint), \(at))")
        }
        for (name, select) in views where !isCurrent || found[name] == nil {
            try client.execute("CREATE VIEW IF NOT EXISTS \(name) AS \(select)")
        }
    }

    /// Returns the columns of all tables and views with their types, by table.
    private func tables(_ client: ClickHouseClient) throws(StoreError) -> [String: [String: String]] {
        let rows = try client.rows(
            "SELECT table, name, type FROM system.columns WHERE database = currentDatabase()")
        return rows.reduce(into: [:]) { tables, row in
            if let table = row[0], let name = row[1] { tables[table, default: [:]][name] = row[2] }
        }
    }

    /// Adds the columns that a stream has gained.
    /// - Parameter found: the columns of the tables that are not new.
    private func addColumns(
        of stream: SensorStream, to found: [String: [String: String]], _ client: ClickHouseClient
    ) throws(StoreError) {
        // The summaries come first: when a stream has a column, its summaries have it too.
        let summaries = stream.summaryColumns.map { (name: $0.name, type: "Nullable(Float64)") }
        let values = stream.columns.map { (name: $0.name, type: $0.clickHouseType) }
        for (table, columns) in [(stream.minuteTable, summaries), (stream.receivedTable, values)] {
            guard let known = found[table] else { continue }
            for column in columns {
                guard let type = known[column.name], type != column.type else { continue }
                throw StoreError(
                    .streams,
                    "the column \(column.name) of \(table) has the type \(type), but the stream needs \(column.type): give "
                        + "the stream or the column another name", stream: stream.name)
            }
            let missing = columns.filter { known[$0.name] == nil }.map { "ADD COLUMN \($0.name) \($0.type)" }
            guard !missing.isEmpty else { continue }
            try client.execute("ALTER TABLE \(table) \(missing.joined(separator: ", "))")
        }
    }

    /// Lets inserts into all tables wait for the disk, also if the tables were created without this.
    private func syncTables(_ client: ClickHouseClient) throws(StoreError) {
        guard storage.syncsInserts else { return }
        let tables = try client.rows(
            "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'")
        for row in tables {
            guard let table = row[0] else { continue }
            try client.execute("ALTER TABLE `\(table)` MODIFY SETTING \(StorageSettings.settings)")
        }
    }

    /// Deletes the rejected messages that are older than ``rejectedDays``.
    /// - Parameter report: receives the errors. The messages are then kept until the next start.
    func deleteOldRejections(
        _ client: ClickHouseClient, at now: Timestamp, report: (StoreError) -> Void
    ) throws(StoreError) {
        let oldest = now.microseconds / Int64(Self.day) - Self.rejectedDays
        let partitions = try client.rows(
            """
            SELECT DISTINCT partition FROM system.parts
            WHERE active AND database = currentDatabase() AND table = 'rejected' AND toInt64(partition) < \(oldest)
            """)
        for row in partitions {
            guard let partition = row[0] else { continue }
            do { try client.execute("ALTER TABLE rejected DROP PARTITION \(partition)") } catch {
                guard error.code != .unreachable else { throw error }
                report(error)
            }
        }
    }
}
