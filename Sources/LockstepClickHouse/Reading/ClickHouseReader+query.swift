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
    func rows(
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
        var window = QueryWindow(start: select.start(of: first), unit: select.span)
        while let span = window.next(before: last) {
            let part = max(span.lowerBound, times.lowerBound)...min(span.upperBound, times.upperBound - 1)
            let read = try read(select.statement(of: id, part, limit: Self.rowLimit), select, each)
            guard read.goesOn else { return }
            window.record(rows: read.samples)
            if read.rows == Self.rowLimit, let time = read.last, part.upperBound - time >= select.span {
                window.resume(at: time + select.span)
            } else if read.rows == 0 {
                // Skip a gap of any length. The last samples may have been deleted meanwhile.
                guard part.upperBound < last,
                    let next = try client.rows(select.range(of: id, part.upperBound + 1..<times.upperBound)).first,
                    next[2] != "0", let time = next[0].flatMap({ Int64($0) })
                else { return }
                window.skip(to: select.start(of: time))
            }
        }
    }

    private func read(
        _ statement: String, _ select: SampleSelect, _ each: (Int64, [Double]) throws -> Bool
    ) throws -> (rows: Int, samples: Int, last: Int64?, goesOn: Bool) {
        var reader = RowBinaryReader(try client.binary(statement))
        var (count, samples) = (0, 0)
        var last: Int64?
        while !reader.isAtEnd {
            let row: (time: Int64, values: [Double])
            do { row = try select.row(from: &reader) } catch { throw truncated }
            count += 1
            last = row.time
            samples += select.samples(in: row.values)
            guard try each(row.time, row.values) else { return (count, samples, last, false) }
        }
        return (count, samples, last, true)
    }
}
