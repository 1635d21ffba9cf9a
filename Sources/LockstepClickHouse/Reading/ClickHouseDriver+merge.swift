import LockstepModel
import LockstepStore

extension ClickHouseDriver {
    func timeRanges(
        of stream: SensorStream, _ devices: [Int64], _ times: Range<Int64>
    ) throws -> [Int64: ClosedRange<Int64>] {
        guard try hasTable(of: stream) else { return [:] }
        let ranges = try Set(devices).sorted().chunks(of: EventRows.queryLimit).flatMap { part in
            try client.rows(
                """
                SELECT device_id, min(t), max(t) FROM \(stream.receivedTable)
                WHERE device_id IN (\(part.map { "\($0)" }.joined(separator: ", ")))
                    AND t >= \(times.lowerBound) AND t < \(times.upperBound) GROUP BY device_id
                """
            ) { row throws(StoreError) in (row.int64(at: 0), row.int64(at: 1)...row.int64(at: 2)) }
        }
        return Dictionary(ranges) { first, _ in first }
    }

    func merge(
        _ streams: [SensorStream], _ ids: [Int64], _ times: Range<Int64>,
        _ each: (Int, Int, Timestamp, [Double]) throws -> Void
    ) throws {
        var sources: [MergeSource] = []
        for index in streams.indices where try hasTable(of: streams[index]) {
            guard let condition = try condition(of: streams[index], ids, times) else { continue }
            sources.append(
                MergeSource(select: SampleSelect(stream: streams[index]), index: index, condition: condition))
        }
        guard let extent = try extent(of: sources, times) else { return }
        let positions = Dictionary(ids.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        // Each device has at most one row for a time, so that a part of a window is never empty.
        let limit = max(Self.rowLimit, 2 * ids.count)
        var window = QueryWindow(start: extent.lowerBound)
        while let span = window.next(before: extent.upperBound) {
            let part = max(span.lowerBound, times.lowerBound)...min(span.upperBound, times.upperBound - 1)
            var rows: [MergedRow] = []
            var end = part.upperBound
            for source in sources {
                let found = try read(source, part, limit: limit, positions)
                if found.count == limit, let last = found.last { end = min(end, last.time - 1) }
                rows += found
            }
            window.record(rows: rows.count)
            if end < part.upperBound {
                window.resume(at: end + 1)
            } else if rows.isEmpty {
                // Skip a gap of any length.
                guard part.upperBound < extent.upperBound,
                    let next = try self.extent(of: sources, part.upperBound + 1..<times.upperBound)
                else { return }
                window.skip(to: next.lowerBound)
            }
            rows.sort(by: MergedRow.precedes)
            for row in rows where row.time <= end {
                try each(row.device, row.stream, Timestamp(microseconds: row.time), row.values)
            }
        }
    }

    /// Returns the condition for the visible samples of devices, or nil if there are none.
    private func condition(
        of stream: SensorStream, _ ids: [Int64], _ times: Range<Int64>
    ) throws(StoreError) -> String? {
        guard !ids.isEmpty else { return nil }
        let all = "device_id IN (\(ids.map { "\($0)" }.joined(separator: ", ")))"
        guard let visibleRanks else { return all }
        var ranks = visibleRanks[stream] ?? [:]
        if visibleRanks[stream] == nil {
            // Conflicts, which have lower ranks than all samples, are never visible: each has its sample.
            let rows = try client.binary(
                """
                SELECT device_id, min(_rank) FROM \(stream.receivedTable) WHERE \(all) AND _rank >= \(SampleRows.lowestSampleRank)
                    AND t >= \(times.lowerBound) AND t < \(times.upperBound) GROUP BY device_id
                """
            ) { reader in (try reader.integer(), try reader.unsigned()) }
            for (id, rank) in rows { ranks[id] = rank }
            self.visibleRanks?[stream] = ranks
        }
        let visible = ids.compactMap { id in ranks[id].map { "(device_id = \(id) AND _rank >= \($0))" } }
        return visible.isEmpty ? nil : "(\(visible.joined(separator: " OR ")))"
    }

    /// Returns the times of the first and the last row of all sources in a time range, or nil if there is none.
    private func extent(of sources: [MergeSource], _ times: Range<Int64>) throws(StoreError) -> ClosedRange<Int64>? {
        var result: ClosedRange<Int64>?
        for source in sources {
            let condition = "\(source.condition) AND t >= \(times.lowerBound) AND t < \(times.upperBound)"
            guard let found = try client.extent(of: source.select.stream.receivedTable, condition) else { continue }
            let known = result ?? found
            result = min(found.lowerBound, known.lowerBound)...max(found.upperBound, known.upperBound)
        }
        return result
    }

    private func read(
        _ source: MergeSource, _ times: ClosedRange<Int64>, limit: Int, _ positions: [Int64: Int]
    ) throws(StoreError) -> [MergedRow] {
        let columns = source.select.stream.columns.map(\.name).joined(separator: ", ")
        return try client.binary(
            """
            SELECT device_id, t, \(columns) FROM \(source.select.stream.receivedTable)
            WHERE \(source.condition) AND t >= \(times.lowerBound) AND t <= \(times.upperBound)
            ORDER BY t, device_id, _rank DESC, _values_hash LIMIT 1 BY t, device_id LIMIT \(limit)
            """
        ) { reader in
            let device = positions[try reader.integer()] ?? 0
            let (time, values) = try source.select.row(from: &reader)
            return MergedRow(time: time, device: device, stream: source.index, values: values)
        }
    }
}

/// The samples of one stream in a merge.
private struct MergeSource {
    let select: SampleSelect
    /// The index of the stream.
    let index: Int
    /// The condition for the devices.
    let condition: String
}

/// A row of a merge.
private struct MergedRow {
    let time: Int64
    /// The index of the device.
    let device: Int
    /// The index of the stream.
    let stream: Int
    let values: [Double]

    static func precedes(_ left: MergedRow, _ right: MergedRow) -> Bool {
        (left.time, left.device, left.stream) < (right.time, right.device, right.stream)
    }
}
