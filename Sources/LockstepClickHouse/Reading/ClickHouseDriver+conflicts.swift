import LockstepModel
import LockstepStore

// Conflicts are rows of the tables of samples: each has the time of a sample, but a lower rank.

extension ClickHouseDriver {
    func counts(of stream: SensorStream) throws -> [Int64: (samples: Int64, conflicts: Int64)] {
        guard try hasTable(of: stream) else { return [:] }
        let rows = try client.rows(
            """
            SELECT device_id, count(), sum(versions - 1) FROM (
                SELECT device_id, t, uniqExact(_values_hash) AS versions FROM \(stream.receivedTable)
                GROUP BY device_id, t
            ) GROUP BY device_id
            """
        ) { row throws(StoreError) in
            (row.int64(at: 0), (samples: row.int64(at: 1), conflicts: row.int64(at: 2)))
        }
        return Dictionary(rows) { first, _ in first }
    }

    /// The search reads all ranks of the device, so it should be rare.
    func conflicts(
        of device: DeviceRecord, _ times: Range<Int64>, limit: Int
    ) throws -> [DeviceHealth.Conflict] {
        guard device.counts.conflicts > 0 else { return [] }
        let isOwn = "device_id = \(device.id)"
        var found: [DeviceHealth.Conflict] = []
        for stream in try StreamDefinition.catalog(client).streams where try hasTable(of: stream) {
            let select = SampleSelect(stream: stream)
            let columns = stream.columns.map(\.name).joined(separator: ", ")
            let rows = try client.binary(
                """
                SELECT _rank, t, \(columns) FROM \(stream.receivedTable) WHERE \(isOwn) AND t >= \(times.lowerBound)
                    AND t < \(times.upperBound) AND _rank < \(SampleRows.lowestSampleRank)
                ORDER BY _rank, t DESC, _values_hash LIMIT 1 BY t, _values_hash LIMIT \(limit)
                """
            ) { reader in
                (receivedAt: SampleRows.receivedAt(rank: try reader.unsigned()), try select.row(from: &reader))
            }
            guard !rows.isEmpty else { continue }
            let stored = Dictionary(
                try client.binary(
                    """
                    SELECT t, \(columns) FROM \(stream.receivedTable)
                    WHERE \(isOwn) AND t IN (\(rows.map { "\($0.1.time)" }.joined(separator: ", ")))
                    ORDER BY t, _rank DESC, _values_hash LIMIT 1 BY t
                    """
                ) { reader in try select.row(from: &reader) }.map { ($0.time, $0.values) }
            ) { first, _ in first }
            found += rows.map { receivedAt, row in
                DeviceHealth.Conflict(
                    stream: stream.name, time: Timestamp(microseconds: row.time),
                    stored: stored[row.time].map { stream.json($0) } ?? "", received: stream.json(row.values),
                    receivedAt: Timestamp(microseconds: receivedAt))
            }
        }
        found.sort { left, right in
            (right.receivedAt, right.time, left.stream, left.received)
                < (left.receivedAt, left.time, right.stream, right.received)
        }
        return Array(found.prefix(limit))
    }
}
