import LockstepModel
public import LockstepStore

extension StoreReader {
    /// Opens the database at `address`.
    /// - Parameter timeout: the maximum duration of a request, in ms.
    /// - Throws: ``/LockstepStore/StoreError`` if the server does not answer or refuses the user, or there is no store of a version that
    ///   this program can read.
    public convenience init(_ address: ClickHouseAddress, timeout: Int = 300_000) throws(StoreError) {
        self.init(try ClickHouseDriver(address, timeout: timeout))
    }
}

/// Reads a store in a ClickHouse database. The server computes what it can, because its answers come over a network.
final class ClickHouseDriver: StoreDriver {
    let client: ClickHouseClient
    let address: ClickHouseAddress
    /// Within ``snapshot(_:)``, the lowest rank of the samples that are visible, by stream and device id.
    var visibleRanks: [SensorStream: [Int64: UInt64]]?
    var source: any StoreSource { client }
    var summarised: Int64 = 0

    /// Opens the database at `address`.
    /// - Parameter timeout: the maximum duration of a request, in ms.
    /// - Throws: ``/LockstepStore/StoreError`` if the server does not answer or refuses the user, or there is no store of a version that
    ///   this program can read.
    init(_ address: ClickHouseAddress, timeout: Int = 300_000) throws(StoreError) {
        self.address = address
        client = try ClickHouseClient(address, timeout: timeout)
        guard let isReplicated = try Self.findStore(client) else {
            throw StoreError(
                .missing, "there is no store at \(address): check the address, or start a collector with this store")
        }
        guard isReplicated || address.servers.count == 1 else {
            throw StoreError(.other, "the tables of \(address) are not replicated: give only the host of the store")
        }
        client.readsReplicas = isReplicated
        client.progressAge = .seconds(1)
        let version = try client.rows("SELECT max(version) FROM lockstep_schema").first?[0].flatMap { Int($0) } ?? 0
        guard version == ClickHouseSchema.version else {
            throw StoreError(
                .schema,
                "\(address) has the schema \(version), and this program needs \(ClickHouseSchema.version): use the "
                    + "programs of the same version of Lockstep")
        }
    }

    /// Lets the client use the first server with the tables of a store. A replica has none before a collector finds it.
    /// - Returns: whether the tables are replicated, or nil if no server has them.
    private static func findStore(_ client: ClickHouseClient) throws(StoreError) -> Bool? {
        for _ in client.address.servers {
            if let isReplicated = try client.hasReplicatedTables() { return isReplicated }
            client.failOver()
        }
        return nil
    }

    /// Returns no problems: ClickHouse checks its files when it reads them.
    func integrityCheck() -> [String] { [] }

    func reading<Result>(
        until cancellation: QueryCancellation?, _ body: () throws -> Result
    ) throws(StoreError) -> Result {
        do { return try cancelling(cancellation, body) } catch {
            throw error as? StoreError ?? StoreError(.other, "\(error)")
        }
    }

    /// Runs requests until the cancellation.
    func cancelling<Result>(_ cancellation: QueryCancellation?, _ body: () throws -> Result) rethrows -> Result {
        guard let cancellation else { return try body() }
        defer { client.cancellation = nil }
        client.cancellation = cancellation
        return try body()
    }

    /// Calls `body`. Samples that are received later than the newest ones of their device at the first merge are not
    /// visible to later merges.
    ///
    /// ClickHouse has no snapshots. This relies on the order of receipt, so it is wrong if the clock of the collector is
    /// set back meanwhile.
    func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
        visibleRanks = [:]
        defer { visibleRanks = nil }
        return try body()
    }

    func id(of device: DeviceAddress) -> Int64? { DeviceRecord.id(of: device) }

    func expired() -> String? { "(SELECT device_id, stream, from_t, samples, 0 AS late FROM expired)" }

    /// Lets reads wait until a replica has the refined data, too.
    func hasRows(of kind: RefinedKind) throws -> Bool {
        guard try hasTable(kind.table) else { return false }
        guard !client.readsRefinedTables else { return true }
        client.readsRefinedTables = true
        client.requireEverything()
        return true
    }

    func waitingClocks() -> [Int64: [ClockPoint]] { [:] }

    func samples(of stream: SensorStream, _ device: Int64, _ times: Range<Int64>) throws -> String? {
        guard !times.isEmpty, try hasTable(of: stream) else { return nil }
        let samples = SampleSelect(stream: stream).samples(of: device, times.lowerBound...times.upperBound - 1)
        return "(\(samples)) AS samples"
    }

    /// Returns whether the store has a table for a stream. Without the settings of a collector, a declared stream has
    /// none until it is declared for this store.
    func hasTable(of stream: SensorStream) throws(StoreError) -> Bool {
        try hasTable(stream.receivedTable)
    }

    /// Returns whether the store has a table.
    func hasTable(_ name: String) throws(StoreError) -> Bool {
        try !client.rows("EXISTS TABLE \(name)").contains { $0.first == "0" }
    }
}

extension ClickHouseClient: StoreSource {
    var name: String { "\(address)" }
    var dialect: StoreDialect { .clickHouse }

    func select(
        _ statement: String, _ each: (any StoreRow) throws(StoreError) -> Bool
    ) throws(StoreError) {
        for row in try rows(statement) { guard try each(TabSeparated.Row(values: row)) else { return } }
    }

    /// Executes a SELECT statement.
    /// - Parameter read: reads a row of the answer in the format RowBinary.
    func binary<Row>(
        _ statement: String, _ read: (inout RowBinaryReader) throws -> Row
    ) throws(StoreError) -> [Row] {
        var reader = RowBinaryReader(try binary(statement))
        var rows: [Row] = []
        do {
            while !reader.isAtEnd { rows.append(try read(&reader)) }
        } catch { throw truncated }
        return rows
    }

    /// Returns the times of the first and last row of a table that meets a condition, or nil if there is none.
    func extent(of table: String, _ condition: String) throws(StoreError) -> ClosedRange<Int64>? {
        let rows = try binary("SELECT min(t), max(t), toInt64(count()) FROM \(table) WHERE \(condition)") { reader in
            (first: try reader.integer(), last: try reader.integer(), count: try reader.integer())
        }
        return rows.first.flatMap { $0.count == 0 ? nil : $0.first...$0.last }
    }

    /// The error for an answer that ends within a row.
    var truncated: StoreError { StoreError(.other, "the answer of \(address) ends within a row: try again") }
}

extension TabSeparated {
    /// A row. NULL is nil.
    struct Row: StoreRow {
        let values: [String?]

        func int64(at column: Int) -> Int64 { optionalInt64(at: column) ?? 0 }
        func optionalInt64(at column: Int) -> Int64? { values[column].flatMap { Int64($0) } }
        func double(at column: Int) -> Double { values[column].flatMap { Double($0) } ?? .nan }
        func text(at column: Int) -> String? { values[column] }
    }
}

extension StoreDialect {
    fileprivate static let clickHouse = StoreDialect(
        definitions: "SELECT name, argMax(definition, at) FROM streams GROUP BY name ORDER BY name",
        devices: "received_devices", batches: "received_batches", dropped: "received_dropped", reports: "reports",
        deliveries: "deliveries", orderOfRejected: "at",
        sessionTables: "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = 'sessions'",
        position: "position", maxRows: ClickHouseDriver.rowLimit,
        // The server would read all rows for the views.
        events: { numbers in
            let isNumber = "event_id IN (\(numbers.map { "\($0)" }.joined(separator: ", ")))"
            let rows = "(device_id, rule, t) IN (SELECT device_id, rule, t FROM received_events WHERE \(isNumber))"
            return "(\(ClickHouseSchema.selectEvents(where: rows)))"
        },
        clocks: { device in
            """
            (SELECT \(clockColumns) FROM received_clocks WHERE device_id = \(device)
            ORDER BY collector, epoch, t LIMIT 1 BY collector, epoch, t)
            """
        },
        newestClocks: { condition in
            """
            SELECT device_id, \((1...7).map { "latest.\($0)" }.joined(separator: ", ")) FROM (
                SELECT device_id, argMax((\(clockColumns)), t - offset) AS latest FROM received_clocks
                WHERE \(condition) GROUP BY device_id
            )
            """
        }, literal: { LockstepClickHouse.literal($0) })
}
