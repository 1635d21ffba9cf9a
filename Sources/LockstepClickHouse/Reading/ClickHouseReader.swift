public import LockstepModel
public import LockstepStore

/// Reads a store in a ClickHouse database. Use a reader from one thread only.
public final class ClickHouseReader: StoreReading {
    let client: ClickHouseClient
    let address: ClickHouseAddress
    /// Within ``snapshot(_:)``, the lowest rank of the samples that are visible, by stream and device id.
    var visibleRanks: [SensorStream: [Int64: UInt64]]?

    /// Whether the store is known to have views of events.
    var hasEvents = false

    /// Opens the database at `address`.
    /// - Parameter timeout: the maximum duration of a request, in ms.
    /// - Throws: ``/LockstepStore/StoreError`` if the server does not answer or refuses the user, or there is no store of a version that
    ///   this program can read.
    public init(_ address: ClickHouseAddress, timeout: Int = 300_000) throws(StoreError) {
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

    public func catalog() throws(StoreError) -> StreamCatalog { try StreamDefinitions(client: client).catalog() }

    public func devices() throws(StoreError) -> [DeviceSummary] {
        let epochs = try epochs()
        return try records().map { summary(of: $0, epochs[$0.id] ?? []) }
    }

    /// Returns the summary of a device.
    func summary(of record: DeviceRecord, _ epochs: [EpochVerification]) -> DeviceSummary {
        DeviceSummary(
            address: record.address, state: record.lifecycle.last?.to, since: record.lifecycle.last?.since,
            firstSeen: record.firstSeen, lastSeen: record.lastSeen,
            lastSample: record.lastSample.map(Timestamp.init(microseconds:)), samples: Int64(record.counts.stored),
            duplicates: Int64(record.counts.duplicates), conflicts: Int64(record.counts.conflicts),
            epochs: epochs,
            isForgotten: record.lifecycle.isForgotten)
    }

    /// Returns all devices, ordered by group and device.
    func records() throws(StoreError) -> [DeviceRecord] {
        try DeviceRecord.readAll(client).sorted { $0.address < $1.address }
    }

    /// Returns the batch numbers of all devices or of one, by device id, ordered by epoch.
    func epochs(of device: Int64? = nil) throws(StoreError) -> [Int64: [EpochVerification]] {
        let condition = device.map { " WHERE device_id = \($0)" } ?? ""
        var numbers: [Int64: [Epoch: BatchNumbers]] = [:]
        for (table, set) in [("batches", \BatchNumbers.received), ("dropped", \BatchNumbers.dropped)] {
            for row in try client.rows("SELECT device_id, epoch, first, last FROM \(table)\(condition)") {
                guard let id = row[0].flatMap({ Int64($0) }), let epoch = row[1].flatMap({ Epoch(rawValue: $0) }),
                    let first = row[2].flatMap({ Int64($0) }), let last = row[3].flatMap({ Int64($0) }), first <= last
                else { throw StoreError(.corrupt, "a row of \(table) is damaged: \(row.compactMap(\.self))") }
                numbers[id, default: [:]][epoch, default: BatchNumbers()][keyPath: set].insert(first...last)
            }
        }
        for row in try EpochReportRows.read(client, where: device.map { "device_id = \($0)" }) {
            numbers[row.device]?[row.epoch]?.report = row.report
        }
        let current = try currentEpochs(condition)
        return Dictionary(
            uniqueKeysWithValues: numbers.map { id, epochs in
                (
                    id,
                    epochs.sorted { $0.key < $1.key }.map {
                        EpochVerification($0.value, of: $0.key, isCurrent: current[id] == $0.key)
                    }
                )
            })
    }

    /// Returns the epoch of the newest presence of devices, by device id.
    private func currentEpochs(_ condition: String) throws(StoreError) -> [Int64: Epoch] {
        var epochs: [Int64: Epoch] = [:]
        for row in try client.rows("SELECT device_id, session_epoch FROM devices\(condition)") {
            guard let id = row[0].flatMap({ Int64($0) }) else { continue }
            epochs[id] = row[1].flatMap { Epoch(rawValue: $0) }
        }
        return epochs
    }
}

extension EpochVerification {
    init(_ numbers: BatchNumbers, of epoch: Epoch, isCurrent: Bool) {
        self.init(
            epoch: epoch, received: numbers.received, agentDropped: numbers.dropped, isCurrent: isCurrent,
            report: numbers.report)
    }
}

extension DeviceRecord {
    /// Reads all devices, or the one with an id.
    static func readAll(_ client: ClickHouseClient, id: Int64? = nil) throws(StoreError) -> [DeviceRecord] {
        let columns = ClickHouseSchema.deviceColumns.joined(separator: ", ")
        let condition = id.map { " WHERE device_id = \($0)" } ?? ""
        var records: [DeviceRecord] = []
        for row in try client.rows("SELECT \(columns) FROM devices\(condition)") {
            guard let record = DeviceRecord(row: row) else {
                throw StoreError(.corrupt, "a row of the view devices is damaged: \(row.compactMap(\.self))")
            }
            records.append(record)
        }
        return records
    }
}
