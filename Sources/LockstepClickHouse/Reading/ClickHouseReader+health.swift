public import LockstepModel
public import LockstepStore

extension ClickHouseReader {
    public func health(
        of device: DeviceAddress, limit: Int, cancellation: QueryCancellation?
    ) throws(StoreError) -> DeviceHealth? {
        defer { client.cancellation = nil }
        client.cancellation = cancellation
        guard let record = try record(of: device) else { return nil }
        let messages = "FROM rejected WHERE position(topic, \(literal("/\(device)/"))) > 0"
        let count = try client.rows("SELECT count() \(messages)").first?[0].flatMap { Int64($0) } ?? 0
        let rows =
            count == 0
            ? []
            : try client.rows(
                "SELECT at, topic, reason, size, hex(head) \(messages) ORDER BY at DESC LIMIT \(max(0, limit))")
        return DeviceHealth(
            summary: summary(of: record, try epochs(of: record.id)[record.id] ?? []), rejected: count,
            clock: try newestClocks(of: record.id)[record.id],
            // The search reads all ranks of the device, so it should be rare.
            recentConflicts: record.counts.conflicts == 0 ? [] : try conflicts(of: record.id, limit: max(0, limit)),
            recentRejections: rows.map(rejection))
    }

    public func rejections(from: Timestamp?, to: Timestamp?) throws(StoreError) -> [RejectedMessage] {
        try client.rows(
            """
            SELECT at, topic, reason, size, hex(head) FROM rejected
            WHERE at >= \(from?.microseconds ?? .min) AND at < \(to?.microseconds ?? .max) ORDER BY at
            """
        ).map(rejection)
    }

    public func conflicts(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, limit: Int
    ) throws(StoreError) -> [DeviceHealth.Conflict] {
        guard let record = try record(of: device), record.counts.conflicts > 0 else { return [] }
        return try conflicts(of: record.id, from: from, to: to, limit: max(0, limit))
    }

    /// Returns the newest conflicts of a device by time of receipt, the newest first.
    private func conflicts(
        of device: Int64, from: Timestamp? = nil, to: Timestamp? = nil, limit: Int
    ) throws(StoreError) -> [DeviceHealth.Conflict] {
        let range =
            (from.map { " AND t >= \($0.microseconds)" } ?? "") + (to.map { " AND t < \($0.microseconds)" } ?? "")
        var found: [DeviceHealth.Conflict] = []
        for stream in try catalog().streams where try hasTable(of: stream) {
            let select = SampleSelect(stream: stream)
            let columns = stream.columns.map(\.name).joined(separator: ", ")
            var rows: [(receivedAt: Int64, time: Int64, values: [Double])] = []
            var reader = RowBinaryReader(
                try client.binary(
                    """
                    SELECT _rank, t, \(columns) FROM \(stream.receivedTable)
                    WHERE device_id = \(device) AND _rank < \(SampleRows.lowestSampleRank)\(range)
                    ORDER BY _rank, t DESC, _values_hash LIMIT 1 BY t, _values_hash LIMIT \(limit)
                    """))
            do {
                while !reader.isAtEnd {
                    let rank = try reader.unsigned()
                    let (time, values) = try select.row(from: &reader)
                    rows.append((SampleRows.receivedAt(rank: rank), time, values))
                }
            } catch { throw truncated }
            var stored: [Int64: [Double]] = [:]
            if !rows.isEmpty {
                let times = rows.map { "\($0.time)" }.joined(separator: ", ")
                var reader = RowBinaryReader(
                    try client.binary(
                        """
                        SELECT t, \(columns) FROM \(stream.receivedTable) WHERE device_id = \(device) AND t IN (\(times))
                        ORDER BY t, _rank DESC, _values_hash LIMIT 1 BY t
                        """))
                do {
                    while !reader.isAtEnd {
                        let (time, values) = try select.row(from: &reader)
                        stored[time] = values
                    }
                } catch { throw truncated }
            }
            found += rows.map { row in
                DeviceHealth.Conflict(
                    stream: stream.name, time: Timestamp(microseconds: row.time),
                    stored: stored[row.time].map { stream.json($0) } ?? "", received: stream.json(row.values),
                    receivedAt: Timestamp(microseconds: row.receivedAt))
            }
        }
        found.sort { left, right in
            (right.receivedAt, right.time, left.stream, left.received)
                < (left.receivedAt, left.time, right.stream, right.received)
        }
        return Array(found.prefix(limit))
    }
}

/// Returns the message in a row with the columns at, topic, reason, size and hex(head).
private func rejection(_ row: [String?]) -> RejectedMessage {
    RejectedMessage(
        at: Timestamp(microseconds: row[0].flatMap { Int64($0) } ?? 0), topic: row[1] ?? "", reason: row[2] ?? "",
        size: row[3].flatMap { Int($0) } ?? 0, head: bytes(hex: row[4] ?? ""))
}

/// Returns the bytes of a text with two hexadecimal digits for each byte.
private func bytes(hex text: String) -> [UInt8] {
    let digits = Array(text.utf8)
    return stride(from: 0, to: digits.count - 1, by: 2).compactMap { index in
        UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16)
    }
}
