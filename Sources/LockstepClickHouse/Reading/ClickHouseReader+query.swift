public import LockstepModel
public import LockstepStore

extension ClickHouseReader {
    public func query(
        stream: SensorStream, detail: QueryDetail, group: GroupID?, devices: [DeviceID], from: Timestamp?,
        to: Timestamp?, limit: Int?, each: (SampleRow) throws -> Void
    ) throws {
        guard try hasTable(of: stream) else { return }
        let wanted = Set(devices)
        let start = from?.microseconds ?? .min
        let times = start..<max(start, to?.microseconds ?? .max)
        var remainingRows = limit ?? .max
        let select = SampleSelect(stream: stream, detail: detail)
        for device in try records().map(\.address) where remainingRows > 0 {
            guard group == nil || device.group == group, wanted.isEmpty || wanted.contains(device.device) else {
                continue
            }
            try rows(select, of: device, times) { time, values in
                guard remainingRows > 0 else { return false }
                remainingRows -= 1
                try each(SampleRow(device: device, time: Timestamp(microseconds: time), values: values))
                return remainingRows > 0
            }
        }
    }

    /// Reads rows in time windows, so that neither program needs memory for the whole result.
    /// - Parameter each: receives the rows; it returns false to end the query.
    private func rows(
        _ select: SampleSelect, of device: DeviceAddress, _ times: Range<Int64>,
        _ each: (Int64, [Double]) throws -> Bool
    ) throws {
        let id = DeviceRecord.id(of: device)
        guard let stored = try client.rows(select.range(of: id, times)).first,
            let first = stored[0].flatMap({ Int64($0) }),
            let last = stored[1].flatMap({ Int64($0) }), stored[2] != "0"
        else { return }
        if select.detail == .last {
            _ = try read(select.samples(of: id, last...last), select) { try each($0, $1) }
            return
        }
        var window = QueryWindow(start: select.start(of: first))
        while let span = window.next(before: last) {
            let part = max(span.lowerBound, times.lowerBound)...min(span.upperBound, times.upperBound - 1)
            let read = try read(select.statement(of: id, part), select, each)
            guard read.goesOn else { return }
            window.record(rows: read.rows)
            if read.rows == 0 {
                // Skip a gap of any length.
                let rest = span.upperBound..<times.upperBound
                guard let next = try client.rows(select.range(of: id, rest)).first, next[2] != "0",
                    let time = next[0].flatMap({ Int64($0) })
                else { return }
                window.skip(to: select.start(of: time))
            }
        }
    }

    private func read(
        _ statement: String, _ select: SampleSelect, _ each: (Int64, [Double]) throws -> Bool
    ) throws -> (rows: Int, goesOn: Bool) {
        var reader = RowBinaryReader(try client.binary(statement))
        var count = 0
        while !reader.isAtEnd {
            let row: (time: Int64, values: [Double])
            do { row = try select.row(from: &reader) } catch {
                throw StoreError(.other, "the answer of \(address) ends within a row: try again")
            }
            count += 1
            guard try each(row.time, row.values) else { return (count, false) }
        }
        return (count, true)
    }
}

/// The time windows in which a query reads. Their length follows the number of rows found.
struct QueryWindow {
    /// The numbers of rows for which the length of a window stays as it is.
    private static let goodRows = 10_000...100_000
    /// The longest window, in µs.
    private static let maxLength: Int64 = 1 << 50

    private var start: Int64
    /// The length of the next window, in µs.
    private var length: Int64 = 60_000_000

    /// - Parameter start: the start of the first window, in µs since 1970.
    init(start: Int64) { self.start = start }

    /// Returns the next window, or nil if it would start after `last`.
    mutating func next(before last: Int64) -> ClosedRange<Int64>? {
        guard start <= last else { return nil }
        let end = start.addingReportingOverflow(length - 1)
        let window = start...(end.overflow ? Int64.max : end.partialValue)
        start = window.upperBound == .max ? .max : window.upperBound + 1
        return window
    }

    /// Continues at a later time.
    mutating func skip(to time: Int64) { start = max(start, time) }

    /// Adapts the length to the number of rows of the last window.
    mutating func record(rows: Int) {
        if rows < Self.goodRows.lowerBound { length = min(length * 4, Self.maxLength) }
        if rows > Self.goodRows.upperBound { length = max(length / 4, 1_000_000) }
    }
}
