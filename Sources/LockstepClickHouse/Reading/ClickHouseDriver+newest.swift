import LockstepModel
import LockstepStore

extension ClickHouseDriver {
    /// The time in µs before the newest sample of a device in which its streams are looked for: 31 days. The server would
    /// have to read all rows of a table to find older ones.
    private static let overviewSpan: Int64 = 31 * 86_400_000_000

    /// Returns the time of the newest sample of each device, by device id.
    /// - Parameter column: a column that must be known, or nil.
    private func newestTimes(
        of stream: SensorStream, _ records: [DeviceRecord], knowing column: String?
    ) throws -> [Int64: Int64] {
        guard try hasTable(of: stream) else { return [:] }
        var times: [Int64: Int64] = [:]
        // Devices with similar times share a statement, so that it reads few rows of the others.
        let sorted = records.filter { $0.lastSample != nil }.sorted { ($0.lastSample ?? 0) < ($1.lastSample ?? 0) }
        for part in sorted.chunks(of: EventRows.queryLimit) {
            let oldest = max(part.first?.lastSample ?? 0, .min + Self.overviewSpan) - Self.overviewSpan
            let rows = try client.rows(
                """
                SELECT device_id, max(t) FROM \(stream.receivedTable)
                WHERE device_id IN (\(part.map { "\($0.id)" }.joined(separator: ", "))) AND t >= \(oldest)
                    \(column.map { "AND isNotNull(\($0))" } ?? "") GROUP BY device_id
                """
            ) { row throws(StoreError) in (row.int64(at: 0), row.int64(at: 1)) }
            for (id, time) in rows { times[id] = time }
        }
        return times
    }

    func newestTimes(of stream: SensorStream, _ records: [DeviceRecord]) throws -> [Int64: Int64] {
        try newestTimes(of: stream, records, knowing: nil)
    }

    func newestSamples(
        of stream: SensorStream, knowing column: String, _ records: [DeviceRecord]
    ) throws -> [Int64: DeviceOverview.Sample] {
        let times = try newestTimes(of: stream, records, knowing: column).sorted { $0.key < $1.key }
        let columns = stream.columns.map(\.name).joined(separator: ", ")
        let select = SampleSelect(stream: stream)
        let samples = try times.chunks(of: EventRows.queryLimit).flatMap { part in
            let keys = part.map { "(device_id = \($0.key) AND t = \($0.value))" }.joined(separator: " OR ")
            return try client.binary(
                """
                SELECT device_id, t, \(columns) FROM \(stream.receivedTable) WHERE \(keys)
                ORDER BY device_id, t, _rank DESC, _values_hash LIMIT 1 BY device_id
                """
            ) { reader in
                let id = try reader.integer()
                let (time, values) = try select.row(from: &reader)
                return (id, DeviceOverview.Sample(time: Timestamp(microseconds: time), values: values))
            }
        }
        return Dictionary(samples) { first, _ in first }
    }
}
