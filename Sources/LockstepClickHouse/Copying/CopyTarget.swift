package import LockstepModel
package import LockstepStore

/// A ClickHouse database into which the samples of another store are copied.
///
/// Everything may be inserted again: equal rows merge. Rows about devices and states have a time of the source as their
/// version, so that they never replace what a collector has written to this database later.
package final class CopyTarget {
    /// The number of rows of an insert.
    static let maxRows = 200_000

    /// The age in µs from which rejected messages are deleted.
    package static let rejectedAge = ClickHouseSchema.rejectedDays * Int64(ClickHouseSchema.day)

    let store: ClickHouseStore
    var client: ClickHouseClient { store.client }

    /// Opens the database, and creates its tables if they do not exist.
    package init(
        _ address: ClickHouseAddress, survivesPowerLoss: Bool, quorum: Quorum?, catalog: StreamCatalog
    ) throws(StoreError) {
        var options = ClickHouseStore.Options()
        options.survivesPowerLoss = survivesPowerLoss
        options.quorum = quorum
        // A collector may use the database.
        options.ownsDevices = false
        // A store creates the tables, and checks the streams and what the server can do.
        store = try ClickHouseStore(address, options: options, catalog: catalog)
    }

    /// Returns what is stored of a device and stream, by hour.
    package func hours(of device: DeviceAddress, _ stream: SensorStream) throws(StoreError) -> [Int64: HourSummary] {
        let rows = try client.binary(HourSummary.statement(of: DeviceRecord.id(of: device), stream)) { reader in
            (try reader.integer(), HourSummary(count: Int(try reader.integer()), sum: try reader.unsigned()))
        }
        return Dictionary(rows) { first, _ in first }
    }

    /// Inserts samples as those that were received first.
    package func insert(_ block: SampleBlock, of device: DeviceAddress) throws(StoreError) {
        let id = DeviceRecord.id(of: device)
        let minutes = Set(block.times.map(Minute.start))
        // If the copy ends in between, the next one finds the samples, and marks nothing.
        try markChanged(minutes.map { (id, $0) }, of: block.stream)
        let hashes = SampleHasher(block.stream).hashes(of: block)
        for range in block.times.indices.chunks(of: Self.maxRows) {
            var rows = SampleRows(block.stream)
            rows.append(
                device: id, block, range, hashes: hashes, receivedAt: Timestamp(microseconds: 0), isConflict: false)
            try client.insert([TableInsert(rows)])
        }
        try markChanged(minutes.map { (id, $0) }, of: block.stream)
    }

    /// Marks minutes of devices as changed, so that their summaries do not count any more. A summary that is computed while
    /// samples are inserted does not count only if this is called again afterwards.
    func markChanged(_ minutes: [(device: Int64, minute: Int64)], of stream: SensorStream) throws(StoreError) {
        let change = UInt64.random(in: 1 ... .max)
        var rows = RowBinary()
        for (device, minute) in minutes { rows.appendChange(change, of: device, minute) }
        try insert(rows, into: stream.minuteTable, Minute.changeColumns)
    }

    /// Inserts states, counters and batch numbers.
    /// - Parameter withBatches: whether to insert batch numbers. Only do so when all samples are stored.
    package func insert(
        _ devices: [StoredDevice], transitions: [DeviceTransition], withBatches: Bool
    ) throws(StoreError) {
        let versions = try CopyVersions(of: "received_devices", client)
        var (received, dropped, states, records) = (RowBinary(), RowBinary(), RowBinary(), RowBinary())
        var reports = RowBinary()
        for device in devices {
            let id = DeviceRecord.id(of: device.record.address)
            for epoch in device.epochs {
                func append(_ ranges: SequenceSet, to rows: inout RowBinary) {
                    for range in ranges.ranges {
                        rows.append(id)
                        rows.append(epoch.epoch.rawValue)
                        rows.append(range.lowerBound)
                        rows.append(range.upperBound)
                        rows.endRow()
                    }
                }
                append(epoch.received, to: &received)
                append(epoch.dropped, to: &dropped)
                if let report = epoch.report {
                    let version = versions.version(of: device)
                    EpochReportRows.append(report, of: id, epoch.epoch, version: version, to: &reports)
                }
            }
            device.record.append(to: &records, version: versions.version(of: device))
        }
        for entry in transitions {
            let version = UInt64(clamping: entry.transition.since.microseconds)
            entry.transition.append(of: DeviceRecord.id(of: entry.device), version: version, to: &states)
        }
        let ranges = ["device_id", "epoch", "first", "last"]
        try insert(states, into: "received_states", StateColumns.names)
        try insert(records, into: "received_devices", DeviceRecord.columns + ["version"])
        guard withBatches else { return }
        try insert(dropped, into: "received_dropped", ranges)
        try insert(received, into: "received_batches", ranges)
        try insert(reports, into: "received_reports", EpochReportRows.columns)
    }

    /// Inserts sessions with their devices and markers.
    package func insert(_ sessions: [RecordingSession]) throws(StoreError) {
        // An earlier copy must not be missed.
        client.requireEverything()
        let rows = try client.binary(
            "SELECT group_name, session_id, max(version) FROM received_sessions GROUP BY group_name, session_id"
        ) { reader in
            let key = RecordingSession.Key(
                group: GroupID(unchecked: try reader.text()), id: SessionID(unchecked: try reader.text()))
            return (key, try reader.unsigned())
        }
        let stored = Dictionary(rows) { first, _ in first }
        let versions = Dictionary(
            uniqueKeysWithValues: sessions.map { session in
                let created = UInt64(clamping: session.created.microseconds)
                return (session.key, CopyVersions.version(at: created, stored: stored[session.key]))
            })
        let markers = sessions.flatMap { session in session.markers.map { (session.key, $0) } }
        try store.insert(sessions, markers: markers) { versions[$0] ?? 0 }
    }

    func insert(_ rows: RowBinary, into table: String, _ columns: [String]) throws(StoreError) {
        guard !rows.isEmpty else { return }
        try client.insert(rows.bytes, into: table, columns: columns)
    }
}
