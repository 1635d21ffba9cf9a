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
    /// - Throws: ``/LockstepStore/StoreError`` if a newer program wrote the store, or a column has another type.
    func update(_ client: ClickHouseClient, database: String) throws(StoreError) {
        try StreamDefinition.register(streams.filter(\.isDeclared), in: client)
        let stored = try client.rows("SELECT version, views FROM lockstep_schema ORDER BY at DESC LIMIT 1").first
        let version = stored?[0].flatMap { Int($0) } ?? 0
        guard version <= Self.version else {
            throw StoreError(
                .schema, "the database \(database) was written by a newer version of Lockstep: update this program")
        }
        for stream in streams { try update(stream, client) }
        try syncTables(client)
        // The server does not keep the text of a view unchanged, so that the texts cannot be compared.
        let fingerprint = views.reduce(into: StableHash()) { $0.combine("\($1.name)\n\($1.select)\n") }.value
        guard version < Self.version || stored?[1] != "\(fingerprint)" else { return }
        for (name, select) in views {
            try client.execute("DROP TABLE IF EXISTS \(name)")
            // Another collector of the cluster may create it at the same time.
            try client.execute("CREATE VIEW IF NOT EXISTS \(name) AS \(select)")
        }
        let now = Moment.now().wall.microseconds
        try client.execute("INSERT INTO lockstep_schema VALUES (\(Self.version), \(fingerprint), \(now))")
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

    private func update(_ stream: SensorStream, _ client: ClickHouseClient) throws(StoreError) {
        try client.execute(stream.createReceivedTable(storage))
        try client.execute(stream.createMinuteTable(storage))
        let found = try client.rows(
            """
            SELECT table, name, type FROM system.columns
            WHERE database = currentDatabase() AND table IN ('\(stream.receivedTable)', '\(stream.minuteTable)')
            """)
        // These come first: when a stream has a column, its summaries have it too.
        for column in stream.summaryColumns
        where !found.contains([stream.minuteTable, column.name, "Nullable(Float64)"]) {
            try client.execute("ALTER TABLE \(stream.minuteTable) ADD COLUMN \(column.name) Nullable(Float64)")
        }
        let rows = found.filter { $0[0] == stream.receivedTable }.map { Array($0.dropFirst()) }
        for column in stream.columns {
            guard let row = rows.first(where: { $0.first == column.name }) else {
                try client.execute(
                    "ALTER TABLE \(stream.receivedTable) ADD COLUMN \(column.name) \(column.clickHouseType)")
                continue
            }
            guard row.last == column.clickHouseType else {
                throw StoreError(
                    .streams,
                    "the column \(column.name) of \(stream.receivedTable) has the type \(row.last.flatMap { $0 } ?? "?"), but the "
                        + "stream needs \(column.clickHouseType): give the stream or the column another name",
                    stream: stream.name)
            }
        }
    }
}
