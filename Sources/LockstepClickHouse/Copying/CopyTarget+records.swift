import Glibc
package import LockstepModel
package import LockstepStore

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
                    try client.execute("ALTER TABLE \(table) DELETE WHERE \(record.condition(in: table))")
                    while try client.rows(
                        """
                        SELECT count() FROM system.mutations
                        WHERE database = currentDatabase() AND table = '\(table)' AND is_done = 0
                        """
                    ).first?[0] != "0" { usleep(200_000) }
                }
            }
            // More were refused at a later copy; a collector of this database has higher versions.
            record.append(to: &rows, version: UInt64(clamping: stored.deletion.at.microseconds + stored.refused))
        }
        try insert(rows, into: "received_deletions", DeletionRecord.columns + ["version"])
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
        try insert(rows, into: "received_expired", ["device_id", "stream", "from_t", "samples"])
    }

    /// Inserts estimates of clocks.
    package func insert(_ clocks: [DeviceClock]) throws(StoreError) {
        for part in clocks.chunks(of: Self.maxRows) {
            var rows = RowBinary()
            for clock in part { rows.append(clock) }
            try insert(rows, into: "received_clocks", ClockColumns.names)
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
        try insert(rows, into: "rejected", ["at", "topic", "reason", "size", "head"])
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
        try insert(rows, into: "received_rule_states", ClickHouseSchema.ruleStateColumns)
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
