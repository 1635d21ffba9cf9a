public import LockstepModel
public import LockstepStore

extension ClickHouseReader {
    public func verification(devices: Set<DeviceAddress>?) throws(StoreError) -> [DeviceVerification] {
        let epochs = try epochs()
        var samples: [Int64: [DeviceVerification.StreamCount]] = [:]
        var conflicts: [Int64: Int64] = [:]
        for stream in try catalog().streams where try hasTable(of: stream) {
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
                address: record.address, epochs: epochs[record.id] ?? [], samples: samples[record.id] ?? [],
                conflicts: conflicts[record.id] ?? 0)
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
        let limit = try client.rows(
            """
            SELECT from_t FROM expired
            WHERE device_id = \(DeviceRecord.id(of: device)) AND stream = '\(block.stream.name)'
            """
        ).first?[0].flatMap { Int64($0) }
        for (time, hash) in zip(block.times, SampleHasher(block.stream).hashes(of: block)) {
            switch stored[time] {
            case nil where limit.map({ KeepRules.isExpired(time, before: $0, held: []) }) ?? false:
                comparison.expired += 1
            case nil: comparison.missing.append(time)
            case hash: comparison.present += 1
            default: comparison.different.append(time)
            }
        }
        return comparison
    }

    public func expiries() throws(StoreError) -> [SeriesExpiry] {
        let addresses = Dictionary(try records().map { ($0.id, $0.address) }) { first, _ in first }
        return try client.rows("SELECT device_id, stream, from_t, samples FROM expired ORDER BY stream")
            .compactMap { row in
                guard let device = row[0].flatMap({ Int64($0) }).flatMap({ addresses[$0] }), let stream = row[1],
                    let before = row[2].flatMap({ Int64($0) }), let samples = row[3].flatMap({ Int64($0) })
                else { return nil }
                return SeriesExpiry(device: device, stream: stream, before: before, samples: samples, late: 0)
            }.sorted { ($0.device, $0.stream) < ($1.device, $1.stream) }
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
