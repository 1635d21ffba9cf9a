import LockstepStore

/// What a replica has still to receive until it holds everything that was acknowledged.
///
/// `select_sequential_consistency` is not used: ClickHouse 18.16 refuses all such queries of a table after one of its
/// partitions was dropped.
struct ReplicaProgress {
    private struct Table {
        let name: String
        let path: String
        let replicaPath: String
        /// The number of the first entry of the log that the replica has not read.
        var pointer: Int64
        /// The number of the newest entry of the log when the wait began.
        var goal: Int64
    }

    private let client: ClickHouseClient
    private let database: String
    private let table: String?
    private let includesRefined: Bool
    private var tables: [Table] = []
    /// The names of the parts that are still to be fetched, or nil before the log has been read.
    private var parts: Set<String>?

    /// - Parameters:
    ///   - table: the only table that matters, or nil for all.
    ///   - includesRefined: whether tables of refined data count. They are left out for other readers, because
    ///     `lockstep refine` must not stop them.
    /// - Throws: ``StoreError`` if the server has lost its connection to the keeper.
    init(
        _ client: ClickHouseClient, database: String, table: String? = nil, includesRefined: Bool = false
    ) throws(StoreError) {
        self.client = client
        self.database = database
        self.table = table
        self.includesRefined = includesRefined
        tables = try read(goals: [:])
        try skipEmptyLogs()
    }

    /// Lets tables without any entry in their log count as read: the number of their newest entry is 0, as with one entry.
    private mutating func skipEmptyLogs() throws(StoreError) {
        let selects = tables.filter { $0.pointer == 0 && $0.goal == 0 }.map { table in
            """
            SELECT \(literal(table.name)) AS owner, count() AS entries FROM system.zookeeper
            WHERE path = \(literal(table.path + "/log"))
            """
        }
        guard !selects.isEmpty else { return }
        let rows = try client.rows(
            "SELECT owner, entries FROM (\(selects.joined(separator: " UNION ALL ")))", inDatabase: false)
        let empty = Set(rows.filter { $0[1] == "0" }.compactMap { $0[0] })
        for index in tables.indices where empty.contains(tables[index].name) { tables[index].goal = -1 }
    }

    /// Returns whether the replica has received everything that was acknowledged before this value was created.
    mutating func isComplete() throws(StoreError) -> Bool {
        guard !tables.isEmpty else { return true }
        if tables.contains(where: { $0.pointer <= $0.goal }) {
            tables = try read(goals: Dictionary(uniqueKeysWithValues: tables.map { ($0.name, $0.goal) }))
            guard !tables.contains(where: { $0.pointer <= $0.goal }) else { return false }
        }
        let queued = try queuedParts()
        let missing = parts.map { $0.intersection(queued) } ?? queued
        parts = missing
        return missing.isEmpty
    }

    private func read(goals: [String: Int64]) throws(StoreError) -> [Table] {
        let rows = try client.rows(
            """
            SELECT table, zookeeper_path, replica_path, log_pointer, log_max_index, is_session_expired, is_readonly
            FROM system.replicas WHERE database = \(literal(database))\(table.map { " AND table = \(literal($0))" } ?? "")
            """, inDatabase: false)
        var tables: [Table] = []
        for row in rows {
            guard let name = row[0], includesRefined || !RefinedTables.names.contains(name), let path = row[1],
                let replicaPath = row[2],
                let pointer = row[3].flatMap({ Int64($0) }),
                let newest = row[4].flatMap({ Int64($0) })
            else { continue }
            guard row[5] == "0", row[6] == "0" else {
                throw StoreError(
                    .unreachable, "the table \(name) of this ClickHouse server has no connection to the keeper")
            }
            tables.append(
                Table(name: name, path: path, replicaPath: replicaPath, pointer: pointer, goal: goals[name] ?? newest))
        }
        return tables
    }

    /// Returns the parts that are in the queue of the replica and were acknowledged, each with its table in front.
    ///
    /// A part that still waits for its quorum was not acknowledged. It may never arrive, if the only replica that holds it
    /// is away.
    private func queuedParts() throws(StoreError) -> Set<String> {
        // An alias of the name of a column would replace the column in the condition.
        let selects = tables.flatMap { table in
            [
                """
                SELECT 1 AS queued, \(literal(table.name)) AS owner, extract(value, '\\nget\\n([^\\n]+)\\n') AS part
                FROM system.zookeeper WHERE path = \(literal(table.replicaPath + "/queue"))
                """,
                """
                SELECT 0 AS queued, \(literal(table.name)) AS owner, extract(value, 'part_name: ([^\\n]+)\\n') AS part
                FROM system.zookeeper WHERE path = \(literal(table.path + "/quorum")) AND name = 'status'
                """,
            ]
        }
        var queued: Set<String> = []
        var unconfirmed: Set<String> = []
        for row in try client.rows(
            "SELECT queued, owner, part FROM (\(selects.joined(separator: " UNION ALL "))) WHERE part != ''",
            inDatabase: false)
        {
            guard let table = row[1], let part = row[2] else { continue }
            if row[0] == "1" { queued.insert("\(table)/\(part)") } else { unconfirmed.insert("\(table)/\(part)") }
        }
        return queued.subtracting(unconfirmed)
    }
}
