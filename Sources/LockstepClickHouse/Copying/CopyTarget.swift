import Glibc
package import LockstepModel
package import LockstepStore

/// A ClickHouse database into which the samples of another store are copied.
///
/// Everything may be inserted again: equal rows merge. Rows about devices and states have a time of the source as their
/// version, so that they never replace what a collector has written to this database later.
package final class CopyTarget {
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
        try store.insert(rows, into: stream.minuteTable, Minute.changeColumns)
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
        try store.insert(states, into: "received_states", StateColumns.names)
        try store.insert(records, into: "received_devices", DeviceRecord.columns + ["version"])
        guard withBatches else { return }
        try store.insert(dropped, into: "received_dropped", ranges)
        try store.insert(received, into: "received_batches", ranges)
        try store.insert(reports, into: "received_reports", EpochReportRows.columns)
    }

    /// Inserts devices as those that were never seen. Only do so for devices that the database does not have.
    package func insert(_ devices: [DeviceAddress]) throws(StoreError) {
        var records = RowBinary()
        for device in devices { DeviceRecord(device).append(to: &records, version: 0) }
        try store.insert(records, into: "received_devices", DeviceRecord.columns + ["version"])
    }

    /// Deletes markers of a session.
    package func deleteMarkers(_ ids: [String], of session: RecordingSession.Key) throws(StoreError) {
        guard !ids.isEmpty else { return }
        try store.deleteMarkers(ids, of: session)
        try client.waitForDeletions(from: SessionTable.markers.received)
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
}

// Copying what a store knows besides samples, batch numbers and states. All of it may be copied again.

extension CopyTarget {
    /// Deletes what was deleted from the source since an earlier copy, and records all deletions, so that no sample of them is
    /// stored when it arrives again. Call it before samples are inserted.
    package func insert(_ deletions: [StoredDeletion]) throws(StoreError) {
        let known = Set(try client.rows("SELECT request FROM deletions").compactMap { $0[0] })
        var rows = RowBinary()
        for stored in deletions {
            let record = DeletionRecord(stored: stored, deviceID: DeviceRecord.id(of: stored.deletion.device))
            // A request that only refuses is done at once, and has deleted nothing.
            let hasDeleted = stored.count > 0 || stored.done != stored.deletion.at
            if hasDeleted, !known.contains(stored.deletion.id) {
                for table in try store.tables(of: record).tables {
                    try client.delete(from: table.name, where: record.condition(in: table))
                }
            }
            // More were refused at a later copy; a collector of this database has higher versions.
            record.append(to: &rows, version: UInt64(clamping: stored.deletion.at.microseconds + stored.refused))
        }
        try store.insert(rows, into: "received_deletions", DeletionRecord.columns + ["version"])
    }

    /// Inserts before which times samples have left by the rules of retention, so that those are not missing.
    package func insert(_ expiries: [SeriesExpiry]) throws(StoreError) {
        var known: [[String?]: (limit: Int64, samples: Int64)] = [:]
        for row in try client.rows("SELECT device_id, stream, from_t, samples FROM expired") {
            known[Array(row[..<2])] = (row[2].flatMap { Int64($0) } ?? .min, row[3].flatMap { Int64($0) } ?? 0)
        }
        var rows = RowBinary()
        for expiry in expiries {
            let id = DeviceRecord.id(of: expiry.device)
            let earlier = known[["\(id)", expiry.stream]]
            guard expiry.before > earlier?.limit ?? .min else { continue }
            rows.append(id)
            rows.append(expiry.stream)
            rows.append(expiry.before)
            rows.append(max(0, expiry.samples - (earlier?.samples ?? 0)))
            rows.endRow()
        }
        try store.insert(rows, into: "received_expired", ["device_id", "stream", "from_t", "samples"])
    }

    /// Inserts estimates of clocks.
    package func insert(_ clocks: [DeviceClock]) throws(StoreError) {
        for part in clocks.chunks(of: Self.maxRows) {
            var rows = RowBinary()
            for clock in part { rows.append(clock) }
            try store.insert(rows, into: "received_clocks", ClockColumns.names)
        }
    }

    /// Inserts conflicts as rows that do not replace the sample with the same time.
    /// - Returns: the number of conflicts, without those of unknown streams.
    @discardableResult
    package func insert(
        _ conflicts: [DeviceHealth.Conflict], of device: DeviceAddress, _ streams: [SensorStream]
    ) throws(StoreError) -> Int {
        let device = DeviceRecord.id(of: device)
        var copied = 0
        for (name, conflicts) in Dictionary(grouping: conflicts, by: \.stream) {
            guard let stream = streams.first(where: { $0.name == name }) else { continue }
            for part in conflicts.chunks(of: Self.maxRows) {
                // A conflict never replaces a sample, but is one if its sample was deleted.
                let minutes = part.map { (device, Minute.start(of: $0.time.microseconds)) }
                try markChanged(minutes, of: stream)
                var rows = SampleRows(stream)
                for conflict in part {
                    var block = SampleBlock(stream: stream)
                    block.append(
                        time: conflict.time, values: try Self.values(conflict.received, of: stream))
                    rows.append(
                        device: device, block, 0..<1,
                        hashes: SampleHasher(stream).hashes(of: block), receivedAt: conflict.receivedAt,
                        isConflict: true)
                    copied += 1
                }
                try client.insert([TableInsert(rows)])
                try markChanged(minutes, of: stream)
            }
        }
        return copied
    }

    /// Inserts the rejected messages that the target does not have.
    /// - Returns: the number of inserted messages.
    @discardableResult
    package func insert(_ messages: [RejectedMessage]) throws(StoreError) -> Int {
        guard let first = messages.map(\.at.microseconds).min() else { return 0 }
        var known: [RejectedMessage: Int] = [:]
        for message in try RejectedMessage.read(client, where: "at >= \(first)") { known[message, default: 0] += 1 }
        var rows = RowBinary()
        for message in messages {
            if let count = known[message], count > 0 {
                known[message] = count - 1
                continue
            }
            rows.append(message.at.microseconds)
            rows.append(message.topic)
            rows.append(message.reason)
            rows.append(Int64(message.size))
            rows.append(message.head)
            rows.endRow()
        }
        try store.insert(rows, into: "rejected", ["at", "topic", "reason", "size", "head"])
        return rows.count
    }

    /// Inserts the states of rules. Only do so when all samples are stored: samples that arrive later are evaluated from
    /// these states.
    package func insert(_ states: [ObserverState], of devices: [StoredDevice]) throws(StoreError) {
        let states = Dictionary(grouping: states) { $0.device }
        let versions = try CopyVersions(of: "received_rule_states", client)
        var rows = RowBinary()
        for device in devices {
            let address = device.record.address
            guard let own = states[address] else { continue }
            var progress = RuleProgress()
            progress.states = Dictionary(own.map { ($0.rule, $0.json) }, uniquingKeysWith: { first, _ in first })
            rows.append(DeviceRecord.id(of: address))
            rows.append(address.group.rawValue)
            rows.append(address.device.rawValue)
            rows.append(try progress.json)
            rows.append(versions.version(of: device))
            rows.endRow()
        }
        try store.insert(rows, into: "received_rule_states", ClickHouseSchema.ruleStateColumns)
    }

    /// Returns the values of a sample from a JSON object. NaN stands for null.
    private static func values(_ json: String, of stream: SensorStream) throws(StoreError) -> [Double] {
        guard let members = try? JSONParser.parse(Array(json.utf8)), case .object = members else {
            throw StoreError(.corrupt, "the values of a conflict of '\(stream.name)' are damaged: \(json)")
        }
        return stream.columns.map { column in
            let value = members[column.name]
            let word = value?.string.flatMap { column.kind.words?.firstIndex(of: $0) }
            return value?.number ?? word.map(Double.init) ?? .nan
        }
    }
}

/// The versions of copied rows that hold everything about a device, such as those of `received_devices`.
///
/// A version is the time of the source in µs. What a collector has written to the target later has a higher one. The source
/// may change without a message, so that two copies would have the same version: the second one then gets the next number.
struct CopyVersions {
    /// The time in µs within which a version of the target is that of an earlier copy, and not that of a collector: nobody
    /// stops a collector, copies its store and starts another one in less.
    private static let copies: UInt64 = 1_000_000

    /// The highest version of each device in the target, by id.
    private let stored: [Int64: UInt64]

    init(stored: [Int64: UInt64]) { self.stored = stored }

    init(of table: String, _ client: ClickHouseClient) throws(StoreError) {
        // An earlier copy must not be missed.
        client.requireEverything()
        self.init(stored: try client.versions(of: table))
    }

    /// Returns the version of a device's row.
    func version(of device: StoredDevice) -> UInt64 {
        let times = [device.record.lastSeen, device.record.lifecycle.last?.since].compactMap(\.self)
        return version(
            of: DeviceRecord.id(of: device.record.address),
            at: UInt64(clamping: times.map(\.microseconds).max() ?? 0))
    }

    /// Returns the version of the row of the device with an id, of which the source knows the state at `time`, in µs.
    func version(of id: Int64, at time: UInt64) -> UInt64 {
        Self.version(at: time, stored: stored[id])
    }

    /// Returns the version of a row of which the source knows the state at `time`, in µs, and the target has a version.
    static func version(at time: UInt64, stored: UInt64?) -> UInt64 {
        guard let stored, stored >= time, stored - time < copies else { return time }
        return stored + 1
    }
}

extension ClickHouseClient {
    /// Deletes rows of a table, and waits until they are gone. Old servers cannot wait themselves.
    func delete(from table: String, where condition: String) throws(StoreError) {
        try execute("ALTER TABLE \(table) DELETE WHERE \(condition)")
        try waitForDeletions(from: table)
    }

    /// Waits until the server has deleted rows of a table.
    /// - Parameter time: how long to wait at most, or nil for as long as the server works on it.
    func waitForDeletions(from table: String, within time: Duration? = nil) throws(StoreError) {
        let deadline = time.map { ContinuousClock.now + $0 }
        while try isDeleting(from: table) {
            if let deadline, ContinuousClock.now >= deadline { return }
            usleep(200_000)
        }
    }

    /// Returns whether the server still has to delete rows of a table.
    func isDeleting(from table: String) throws(StoreError) -> Bool {
        try rows(
            """
            SELECT count() FROM system.mutations
            WHERE database = currentDatabase() AND table = '\(table)' AND is_done = 0
            """
        ).first?[0] != "0"
    }

    /// Returns the highest version of each device in a table, by id.
    func versions(of table: String) throws(StoreError) -> [Int64: UInt64] {
        let rows = try binary("SELECT device_id, max(version) FROM \(table) GROUP BY device_id") { reader in
            (try reader.integer(), try reader.unsigned())
        }
        return Dictionary(rows) { first, _ in first }
    }
}

/// What two stores compare: the number of samples of a device and stream in an hour, and a sum of their hashes. The sum
/// depends on the time and the values of each sample, but not on their order.
package struct HourSummary: Hashable, Sendable {
    /// The number of samples.
    package private(set) var count: Int
    private var sum: UInt64

    /// Creates the summary of no samples.
    package init() { self.init(count: 0, sum: 0) }

    init(count: Int, sum: UInt64) {
        self.count = count
        self.sum = sum
    }

    /// µs of an hour.
    package static let length: Int64 = 3_600_000_000

    /// Returns the number of the hour that contains a time.
    package static func hour(of time: Int64) -> Int64 { time / length - (time % length < 0 ? 1 : 0) }

    /// Adds the samples of a block.
    package mutating func add(_ block: SampleBlock) {
        for (time, hash) in zip(block.times, SampleHasher(block.stream).hashes(of: block)) {
            count += 1
            sum &+= hash &* (2 &* UInt64(bitPattern: time) &+ 1)
        }
    }

    /// Returns the statement for the summaries of a device by hour, from the same calculation.
    static func statement(of device: Int64, _ stream: SensorStream) -> String {
        """
        SELECT intDiv(t, toInt64(\(length))) - if(t % toInt64(\(length)) < 0, 1, 0) AS hour, count(),
            sum(_values_hash * (toUInt64(2) * toUInt64(t) + toUInt64(1)))
        FROM (SELECT t, _values_hash FROM \(stream.receivedTable) WHERE device_id = \(device)
        ORDER BY t, _rank DESC, _values_hash LIMIT 1 BY t) GROUP BY hour
        """
    }
}
