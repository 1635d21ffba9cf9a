import Glibc
public import LockstepModel
public import LockstepStore

/// Writes the refined data of one device to a ClickHouse database, beside running collectors.
///
/// The row of a run in `refined_runs` makes its rows valid. It is one row, so that readers see all of a run or nothing. The
/// views show a row unless a run that was completed later is valid for its time.
public final class ClickHouseRefinedRun: RefinedWriting {
    /// The number of rows of one insert. Each insert creates a part, which ClickHouse has to merge.
    private static let maxRows = 20_000
    /// The time for which an insert is tried again while the server merges.
    private static let retryTime = Duration.seconds(60)
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
    /// The rows that are not inserted yet.
    private var pending = RowBinary()

    /// Begins a run.
    /// - Parameters:
    ///   - parameters: the parameters of the method, as JSON.
    ///   - warn: receives a text about each replica on which the tables could not be created.
    /// - Throws: ``/LockstepStore/StoreError`` if the store cannot be written or the device is unknown.
    public init(
        _ address: ClickHouseAddress, device: DeviceAddress, kind: RefinedKind, method: String, version: Int,
        parameters: String, now: Timestamp, warn: (String) -> Void = { _ in }
    ) throws(StoreError) {
        // The reader checks the store.
        client = try ClickHouseDriver(address).client
        // A run that is missing here would look as if it had been interrupted.
        client.readsRefinedTables = true
        self.kind = kind
        self.method = method
        self.version = version
        self.parameters = parameters
        self.device = DeviceRecord.id(of: device)
        created = now.microseconds
        // Two runs that begin at the same time differ.
        run = now.microseconds << 10 | Int64.random(in: 0..<1024)
        guard try !DeviceRecord.read(client, id: self.device).isEmpty else {
            throw StoreError(.other, "no device '\(device)' in \(address)")
        }
        try createTables(warn)
        if client.readsReplicas { client.insertSettings = try quorum().settings }
        try removeInvalidRows()
    }

    /// Returns how rows are inserted: a majority of the replicas must hold them. Otherwise, the loss of a replica could take
    /// rows away of which the others know that they exist.
    private func quorum() throws(StoreError) -> QuorumInsert {
        let rows = try client.rows(
            "SELECT max(total_replicas) FROM system.replicas WHERE database = \(literal(client.address.database))",
            inDatabase: false)
        let count = max(client.address.servers.count, rows.first?[0].flatMap { Int($0) } ?? 0)
        return QuorumInsert(replicas: Quorum.majority.number(of: count), version: try ServerVersion(client))
    }

    /// Creates the tables and views on each server.
    private func createTables(_ warn: (String) -> Void) throws(StoreError) {
        let storage = ClickHouseSchema.StorageSettings(
            syncsInserts: false, replicatedDatabase: client.readsReplicas ? client.address.database : nil)
        let statements = RefinedTables.statements(of: kind, storage)
        for server in client.address.servers {
            do {
                let replica = try ClickHouseClient(client.address.on(server))
                // A replica that was away when the collectors started has no store.
                guard try replica.hasReplicatedTables() != nil else {
                    warn(
                        "\(replica.address) has no store yet: start a collector, then the next run creates its tables there"
                    )
                    continue
                }
                for statement in statements { try replica.execute(statement) }
            } catch {
                guard error.code == .unreachable, client.address.servers.count > 1 else { throw error }
                warn("the next run creates the tables on this replica: \(error)")
            }
        }
    }

    public func write(_ rows: some Sequence<RefinedRow>) throws(StoreError) {
        for row in rows {
            pending.append(device)
            pending.append(run)
            pending.append(row.time)
            for (value, column) in zip(row.values, kind.definitions) {
                pending.append(isNull: value.isNaN)
                guard !value.isNaN else { continue }
                if column.type.hasPrefix("INTEGER") { pending.append(Int64(value)) } else { pending.append(value) }
            }
            pending.endRow()
            if pending.count == Self.maxRows { try insertPending() }
        }
    }

    public func complete(first: Int64, last: Int64) throws(StoreError) {
        try insertPending()
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
        try insert(row, into: "refined_runs", RefinedTables.runColumns)
        // The new rows are valid now. If this fails, the next run removes the replaced ones.
        try? removeInvalidRows()
    }

    public func discard() throws(StoreError) {
        let completed = try client.rows(
            "SELECT run_id FROM refined_runs WHERE device_id = \(device) AND run_id = \(run)")
        guard completed.isEmpty else { return }
        try remove([run])
    }

    private func insertPending() throws(StoreError) {
        guard !pending.isEmpty else { return }
        try insert(pending, into: kind.table, ["device_id", "run_id", "t"] + kind.definitions.map(\.name))
        pending.removeAll()
    }

    /// Inserts rows, and waits while the server has too many parts to merge.
    private func insert(_ rows: RowBinary, into table: String, _ columns: [String]) throws(StoreError) {
        let deadline = ContinuousClock.now + Self.retryTime
        while true {
            do { return try client.insert(rows.bytes, into: table, columns: columns) } catch {
                guard error.code == .busy, .now < deadline else { throw error }
                usleep(500_000)
            }
        }
    }

    /// Removes the rows of runs that were interrupted, and all of the runs that later ones have replaced entirely.
    private func removeInvalidRows() throws(StoreError) {
        let stored = Set(
            try client.rows("SELECT DISTINCT run_id FROM \(kind.table) WHERE device_id = \(device)")
                .compactMap { $0[0].flatMap { Int64($0) } })
        let runs = try client.rows(
            """
            SELECT run_id, first, last FROM refined_runs WHERE device_id = \(device) AND kind = '\(kind.rawValue)'
            ORDER BY completed DESC
            """)
        var covered = SequenceSet()
        var replaced: [Int64] = []
        for row in runs {
            guard let id = row[0].flatMap({ Int64($0) }), let first = row[1].flatMap({ Int64($0) }),
                let last = row[2].flatMap({ Int64($0) }), first < last
            else { continue }
            if covered.ranges.contains(where: { $0.lowerBound <= first && last - 1 <= $0.upperBound }) {
                replaced.append(id)
            }
            covered.insert(first...last - 1)
        }
        let finished = Set(runs.compactMap { $0[0].flatMap { Int64($0) } })
        let interrupted = stored.filter { !finished.contains($0) && $0 >> 10 < created - Self.maxDuration }
        try remove(stored.intersection(replaced).union(interrupted).sorted())
        // Without its row, a run is not valid, so that this may happen before the rows are gone.
        try remove(replaced, from: "refined_runs")
    }

    private func remove(_ runs: [Int64], from table: String? = nil) throws(StoreError) {
        guard !runs.isEmpty else { return }
        let list = runs.map { "\($0)" }.joined(separator: ", ")
        try client.execute(
            "ALTER TABLE \(table ?? kind.table) DELETE WHERE device_id = \(device) AND run_id IN (\(list))")
    }
}
