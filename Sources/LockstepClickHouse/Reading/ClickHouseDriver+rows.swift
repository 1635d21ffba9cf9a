import LockstepModel
import LockstepStore

extension ClickHouseDriver {
    /// The maximum number of rows of one stream in one answer. A window with more is read in parts.
    static let rowLimit = 100_000

    func rows(
        _ detail: QueryDetail, of stream: SensorStream, _ devices: [Int64], _ times: Range<Int64>,
        until cancellation: QueryCancellation?, _ each: (Int, Timestamp, [Double]) throws -> Bool
    ) throws {
        try cancelling(cancellation) {
            guard try hasTable(of: stream) else { return }
            var goesOn = true
            for (index, device) in devices.enumerated() where goesOn {
                try rows(detail, of: stream, device, times) { time, values in
                    goesOn = try each(index, Timestamp(microseconds: time), values)
                    return goesOn
                }
            }
        }
    }

    /// Reads the rows of a query of one device.
    /// - Parameter each: receives the rows; it returns false to end the query.
    private func rows(
        _ detail: QueryDetail, of stream: SensorStream, _ id: Int64, _ times: Range<Int64>,
        _ each: (Int64, [Double]) throws -> Bool
    ) throws {
        switch detail {
        case .samples: try samples(SampleSelect(stream: stream), of: id, times, each)
        case .last:
            let select = SampleSelect(stream: stream)
            guard let extent = try extent(select, of: id, times) else { return }
            _ = try read(select.samples(of: id, extent.upperBound...extent.upperBound), select, each)
        case .averages(let span):
            let select = SummarySelect(
                stream: stream, device: id, columns: stream.averageColumns,
                spans: SummarySpans(origin: 0, width: span))
            try summaries(select, times) { row in
                try each(row.start, stream.averages(row.values, samples: row.samples))
            }
        }
    }

    /// Reads samples in time windows, so that neither program needs memory for the whole result.
    private func samples(
        _ select: SampleSelect, of id: Int64, _ times: Range<Int64>, _ each: (Int64, [Double]) throws -> Bool
    ) throws {
        // The extent of a short range is not worth a request.
        let isShort = Int128(times.upperBound) - Int128(times.lowerBound) <= QueryWindow.firstLength && !times.isEmpty
        guard let extent = try isShort ? times.lowerBound...times.upperBound - 1 : extent(select, of: id, times) else {
            return
        }
        let last = extent.upperBound
        var window = QueryWindow(start: extent.lowerBound)
        while let span = window.next(before: last) {
            let part = max(span.lowerBound, times.lowerBound)...min(span.upperBound, times.upperBound - 1)
            let statement = select.samples(of: id, part) + " LIMIT \(Self.rowLimit)"
            let read = try read(statement, select, each)
            guard read.goesOn else { return }
            window.record(rows: read.rows)
            if read.rows == Self.rowLimit, let time = read.last, time < part.upperBound {
                window.resume(at: time + 1)
            } else if read.rows == 0 {
                // Skip a gap of any length. The last samples may have been deleted meanwhile.
                guard part.upperBound < last,
                    let next = try self.extent(select, of: id, part.upperBound + 1..<times.upperBound)
                else { return }
                window.skip(to: next.lowerBound)
            }
        }
    }

    /// Returns the times of the first and last sample of a device in a time range, or nil if there is none.
    private func extent(
        _ select: SampleSelect, of id: Int64, _ times: Range<Int64>
    ) throws(StoreError) -> ClosedRange<Int64>? {
        try client.extent(
            of: select.stream.receivedTable,
            "device_id = \(id) AND t >= \(times.lowerBound) AND t < \(times.upperBound)")
    }

    private func read(
        _ statement: String, _ select: SampleSelect, _ each: (Int64, [Double]) throws -> Bool
    ) throws -> (rows: Int, last: Int64?, goesOn: Bool) {
        var reader = RowBinaryReader(try client.binary(statement))
        var count = 0
        var last: Int64?
        while !reader.isAtEnd {
            let row: (time: Int64, values: [Double])
            do { row = try select.row(from: &reader) } catch { throw client.truncated }
            count += 1
            last = row.time
            guard try each(row.time, row.values) else { return (count, last, false) }
        }
        return (count, last, true)
    }
}
