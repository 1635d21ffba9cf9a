public import LockstepModel
public import LockstepStore

extension ClickHouseReader {
    public func verification(
        devices: Set<DeviceAddress>?, counting: Bool = true
    ) throws(StoreError) -> [DeviceVerification] {
        let epochs = try epochs()
        var samples: [Int64: [DeviceVerification.StreamCount]] = [:]
        var conflicts: [Int64: Int64] = [:]
        for stream in counting ? try catalog().streams : [] where try hasTable(of: stream) {
            let rows = try client.rows(
                """
                SELECT device_id, count(), sum(versions - 1) FROM (
                    SELECT device_id, t, uniqExact(_values_hash) AS versions FROM \(stream.receivedTable)
                    GROUP BY device_id, t
                ) GROUP BY device_id
                """)
            for row in rows {
                guard let id = row[0].flatMap({ Int64($0) }), let count = row[1].flatMap({ Int64($0) }) else {
                    continue
                }
                samples[id, default: []].append(.init(stream: stream, count: count))
                conflicts[id, default: 0] += row[2].flatMap { Int64($0) } ?? 0
            }
        }
        return try records().filter { devices?.contains($0.address) ?? true }.map { record in
            DeviceVerification(
                address: record.address, epochs: epochs[record.id] ?? [], stored: Int64(record.counts.stored),
                samples: samples[record.id] ?? [],
                conflicts: counting ? conflicts[record.id] ?? 0 : Int64(record.counts.conflicts))
        }
    }

    public func compare(_ block: SampleBlock, of device: DeviceAddress) throws(StoreError) -> BlockComparison {
        var comparison = BlockComparison()
        guard let first = block.times.min(), let last = block.times.max() else { return comparison }
        var stored: [Int64: UInt64] = [:]
        if try hasTable(of: block.stream) {
            let rows = try client.rows(
                """
                SELECT t, _values_hash FROM \(block.stream.receivedTable)
                WHERE device_id = \(DeviceRecord.id(of: device)) AND t >= \(first) AND t <= \(last)
                ORDER BY t, _rank DESC, _values_hash LIMIT 1 BY t
                """)
            for row in rows {
                guard let time = row[0].flatMap({ Int64($0) }), let hash = row[1].flatMap({ UInt64($0) }) else {
                    continue
                }
                stored[time] = hash
            }
        }
        for (time, hash) in zip(block.times, SampleHasher(block.stream).hashes(of: block)) {
            switch stored[time] {
            case nil: comparison.missing.append(time)
            case hash: comparison.present += 1
            default: comparison.different.append(time)
            }
        }
        if !comparison.missing.isEmpty {
            comparison.subtract(
                try deletions(of: device).map(\.deletion).filter { $0.covers(block.stream) }.map(\.times))
        }
        return comparison
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
