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
        for device in try records().map(\.address) where remainingRows > 0 {
            guard group == nil || device.group == group, wanted.isEmpty || wanted.contains(device.device) else {
                continue
            }
            try rows(detail, of: stream, device, times) { time, values in
                guard remainingRows > 0 else { return false }
                remainingRows -= 1
                try each(SampleRow(device: device, time: Timestamp(microseconds: time), values: values))
                return remainingRows > 0
            }
        }
    }

    /// Reads the rows of a query of one device.
    /// - Parameter each: receives the rows; it returns false to end the query.
    func rows(
        _ detail: QueryDetail, of stream: SensorStream, _ device: DeviceAddress, _ times: Range<Int64>,
        _ each: (Int64, [Double]) throws -> Bool
    ) throws {
        let id = DeviceRecord.id(of: device)
        switch detail {
        case .samples: try samples(SampleSelect(stream: stream), of: id, times, each)
        case .last:
            let select = SampleSelect(stream: stream)
            guard let extent = try extent(select, of: id, times) else { return }
            _ = try read(select.samples(of: id, extent.upperBound...extent.upperBound), select, each)
        case .averages(let span):
            let select = SummarySelect(
                stream: stream, device: id, columns: stream.averageColumns, origin: 0, width: span)
            try summaries(select, times) { row in
                try each(row.start, stream.averages(row.values, samples: row.samples))
            }
        }
    }

    /// Reads samples in time windows, so that neither program needs memory for the whole result.
    private func samples(
        _ select: SampleSelect, of id: Int64, _ times: Range<Int64>, _ each: (Int64, [Double]) throws -> Bool
    ) throws {
        guard let extent = try extent(select, of: id, times) else { return }
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
        guard let row = try client.rows(select.range(of: id, times)).first, row[2] != "0",
            let first = row[0].flatMap({ Int64($0) }), let last = row[1].flatMap({ Int64($0) })
        else { return nil }
        return first...last
    }

    private func read(
        _ statement: String, _ select: SampleSelect, _ each: (Int64, [Double]) throws -> Bool
    ) throws -> (rows: Int, last: Int64?, goesOn: Bool) {
        var reader = RowBinaryReader(try client.binary(statement))
        var count = 0
        var last: Int64?
        while !reader.isAtEnd {
            let row: (time: Int64, values: [Double])
            do { row = try select.row(from: &reader) } catch { throw truncated }
            count += 1
            last = row.time
            guard try each(row.time, row.values) else { return (count, last, false) }
        }
        return (count, last, true)
    }
}
