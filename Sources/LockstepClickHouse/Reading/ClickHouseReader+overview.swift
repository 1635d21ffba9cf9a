import LockstepModel
public import LockstepStore

extension ClickHouseReader {
    /// The time in µs before the newest sample of a device in which its streams are looked for: 31 days. The server would
    /// have to read all rows of a table to find older ones.
    private static let overviewSpan: Int64 = 31 * 86_400_000_000

    /// Returns an overview of every device, ordered by group and device id.
    ///
    /// Streams without samples in the 31 days before the newest sample of a device may be absent.
    public func overviews(cancellation: QueryCancellation?) throws(StoreError) -> [DeviceOverview] {
        defer { client.cancellation = nil }
        client.cancellation = cancellation
        let records = try records()
        var newest: [Int64: [String: Timestamp]] = [:]
        for stream in try catalog().streams {
            for (id, time) in try newestTimes(of: stream, records, knowing: nil) {
                newest[id, default: [:]][stream.name] = Timestamp(microseconds: time)
            }
        }
        let batteries = try newestSamples(of: .battery, records, knowing: "state")
        let positions = try newestSamples(of: .location, records, knowing: "lat")
        let epochs = try epochs()
        return records.map { record in
            DeviceOverview(
                summary: summary(of: record, epochs[record.id] ?? []), transition: record.lifecycle.last,
                phase: record.lifecycle.phase, newest: newest[record.id] ?? [:], battery: batteries[record.id],
                position: positions[record.id])
        }
    }

    /// Returns the time of the newest sample of each device, by device id.
    /// - Parameter column: a column that must be known, or nil.
    private func newestTimes(
        of stream: SensorStream, _ records: [DeviceRecord], knowing column: String?
    ) throws(StoreError) -> [Int64: Int64] {
        guard try hasTable(of: stream) else { return [:] }
        var times: [Int64: Int64] = [:]
        // Devices with similar times share a statement, so that it reads few rows of the others.
        let sorted = records.filter { $0.lastSample != nil }.sorted { ($0.lastSample ?? 0) < ($1.lastSample ?? 0) }
        for part in sorted.chunks(of: Self.devicesOfStatement) {
            let oldest = max(part.first?.lastSample ?? 0, .min + Self.overviewSpan) - Self.overviewSpan
            let rows = try client.rows(
                """
                SELECT device_id, max(t) FROM \(stream.receivedTable)
                WHERE device_id IN (\(part.map { "\($0.id)" }.joined(separator: ", "))) AND t >= \(oldest)
                    \(column.map { "AND isNotNull(\($0))" } ?? "") GROUP BY device_id
                """)
            for row in rows {
                guard let id = row[0].flatMap({ Int64($0) }), let time = row[1].flatMap({ Int64($0) }) else { continue }
                times[id] = time
            }
        }
        return times
    }

    /// Returns the newest sample of each device in which a column is known, by device id.
    private func newestSamples(
        of stream: SensorStream, _ records: [DeviceRecord], knowing column: String
    ) throws(StoreError) -> [Int64: DeviceOverview.Sample] {
        let times = try newestTimes(of: stream, records, knowing: column).sorted { $0.key < $1.key }
        let columns = stream.columns.map(\.name).joined(separator: ", ")
        let select = SampleSelect(stream: stream)
        var samples: [Int64: DeviceOverview.Sample] = [:]
        for part in times.chunks(of: Self.devicesOfStatement) {
            let keys = part.map { "(device_id = \($0.key) AND t = \($0.value))" }.joined(separator: " OR ")
            var reader = RowBinaryReader(
                try client.binary(
                    """
                    SELECT device_id, t, \(columns) FROM \(stream.receivedTable) WHERE \(keys)
                    ORDER BY device_id, t, _rank DESC, _values_hash LIMIT 1 BY device_id
                    """))
            do {
                while !reader.isAtEnd {
                    let id = try reader.integer()
                    let (time, values) = try select.row(from: &reader)
                    samples[id] = DeviceOverview.Sample(time: Timestamp(microseconds: time), values: values)
                }
            } catch { throw truncated }
        }
        return samples
    }
}
