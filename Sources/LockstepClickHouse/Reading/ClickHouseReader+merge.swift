public import LockstepModel
public import LockstepStore

extension ClickHouseReader {
    /// The maximum number of devices in one statement.
    static let devicesOfStatement = 500
    /// The maximum number of rows of one stream in one answer. A window with more is read in parts.
    static let rowLimit = 100_000

    public func timeRanges(
        of stream: SensorStream, devices: [DeviceAddress], from: Timestamp?, to: Timestamp?
    ) throws(StoreError) -> [DeviceAddress: ClosedRange<Timestamp>] {
        guard try hasTable(of: stream) else { return [:] }
        let times = timeRange(from, to)
        var addresses: [Int64: DeviceAddress] = [:]
        for device in devices { addresses[DeviceRecord.id(of: device)] = device }
        var result: [DeviceAddress: ClosedRange<Timestamp>] = [:]
        for part in addresses.keys.sorted().chunks(of: Self.devicesOfStatement) {
            let rows = try client.rows(
                """
                SELECT device_id, min(t), max(t) FROM \(stream.receivedTable)
                WHERE device_id IN (\(part.map { "\($0)" }.joined(separator: ", ")))
                    AND t >= \(times.lowerBound) AND t < \(times.upperBound) GROUP BY device_id
                """)
            for row in rows {
                guard let device = row[0].flatMap({ Int64($0) }).flatMap({ addresses[$0] }),
                    let first = row[1].flatMap({ Int64($0) }), let last = row[2].flatMap({ Int64($0) })
                else { continue }
                result[device] = Timestamp(microseconds: first)...Timestamp(microseconds: last)
            }
        }
        return result
    }

    /// Calls `body`. Samples that are received later than the newest ones of their device at the first merge are not
    /// visible to later merges.
    ///
    /// ClickHouse has no snapshots. This relies on the order of receipt, so it is wrong if the clock of the collector is
    /// set back meanwhile.
    public func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
        visibleRanks = [:]
        defer { visibleRanks = nil }
        return try body()
    }

    public func merge(
        streams: [SensorStream], devices: [DeviceAddress], from: Timestamp?, to: Timestamp?,
        each: (SampleRow, Int) throws -> Void
    ) throws {
        let times = timeRange(from, to)
        let ids = devices.map(DeviceRecord.id(of:))
        var sources: [MergeSource] = []
        for index in streams.indices where try hasTable(of: streams[index]) {
            guard let condition = try condition(of: streams[index], ids, times) else { continue }
            sources.append(
                MergeSource(select: SampleSelect(stream: streams[index]), index: index, condition))
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
                try each(
                    SampleRow(
                        device: devices[row.device], time: Timestamp(microseconds: row.time), values: row.values),
                    row.stream)
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
            let rows = try client.rows(
                """
                SELECT device_id, min(_rank) FROM \(stream.receivedTable) WHERE \(all) AND _rank >= \(SampleRows.lowestSampleRank)
                    AND t >= \(times.lowerBound) AND t < \(times.upperBound) GROUP BY device_id
                """)
            for row in rows {
                guard let id = row[0].flatMap({ Int64($0) }), let rank = row[1].flatMap({ UInt64($0) }) else {
                    continue
                }
                ranks[id] = rank
            }
            self.visibleRanks?[stream] = ranks
        }
        let visible = ids.compactMap { id in ranks[id].map { "(device_id = \(id) AND _rank >= \($0))" } }
        return visible.isEmpty ? nil : "(\(visible.joined(separator: " OR ")))"
    }

    /// Returns the times of the first and the last row of all sources in a time range, or nil if there is none.
    private func extent(of sources: [MergeSource], _ times: Range<Int64>) throws(StoreError) -> ClosedRange<Int64>? {
        var result: ClosedRange<Int64>?
        for source in sources {
            let row = try client.rows(
                """
                SELECT min(t), max(t), count() FROM \(source.select.stream.receivedTable)
                WHERE \(source.condition) AND t >= \(times.lowerBound) AND t < \(times.upperBound)
                """
            ).first
            guard let row, row[2] != "0", let first = row[0].flatMap({ Int64($0) }),
                let last = row[1].flatMap({ Int64($0) })
            else { continue }
            result = min(first, result?.lowerBound ?? first)...max(last, result?.upperBound ?? last)
        }
        return result
    }

    private func read(
        _ source: MergeSource, _ times: ClosedRange<Int64>, limit: Int, _ positions: [Int64: Int]
    ) throws(StoreError) -> [MergedRow] {
        let columns = source.select.stream.columns.map(\.name).joined(separator: ", ")
        var reader = RowBinaryReader(
            try client.binary(
                """
                SELECT device_id, t, \(columns) FROM \(source.select.stream.receivedTable)
                WHERE \(source.condition) AND t >= \(times.lowerBound) AND t <= \(times.upperBound)
                ORDER BY t, device_id, _rank DESC, _values_hash LIMIT 1 BY t, device_id LIMIT \(limit)
                """))
        var rows: [MergedRow] = []
        do {
            while !reader.isAtEnd {
                let device = try reader.integer()
                let (time, values) = try source.select.row(from: &reader)
                rows.append(
                    MergedRow(time: time, device: positions[device] ?? 0, stream: source.index, values: values))
            }
        } catch { throw truncated }
        return rows
    }

    /// The error for an answer that ends within a row.
    var truncated: StoreError { StoreError(.other, "the answer of \(address) ends within a row: try again") }

    /// Returns a time range in µs since 1970.
    func timeRange(_ from: Timestamp?, _ to: Timestamp?) -> Range<Int64> {
        let start = from?.microseconds ?? .min
        return start..<max(start, to?.microseconds ?? .max)
    }
}

/// The samples of one stream in a merge.
private struct MergeSource {
    let select: SampleSelect
    /// The index of the stream.
    let index: Int
    /// The condition for the devices.
    let condition: String

    init(select: SampleSelect, index: Int, _ condition: String) {
        self.select = select
        self.index = index
        self.condition = condition
    }
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
