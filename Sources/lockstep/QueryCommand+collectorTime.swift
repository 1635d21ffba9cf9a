import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepStore

extension QueryCommand {
    /// Ends a query when the limit is reached.
    private struct LimitReached: Error {}

    /// Prints rows on the collector's time line. The time range is on that time line as well.
    func printOnCollectorTime(
        _ stream: SensorStream, _ detail: QueryDetail, from: Timestamp?, to: Timestamp?,
        _ selections: [(group: GroupID?, devices: [DeviceID])], _ reader: StoreReader
    ) throws {
        let devices = try Self.devices(of: selections, reader)
        var converter = try CollectorTime(of: devices, from: from, to: to, in: reader)
        let columns = detail.columns(of: stream)
        var output = OutputBuffer()
        // After an error, print the rows read so far.
        defer {
            Terminal.output.write(output.bytes)
            TimeReference.warn(converter)
        }
        var writer = format.writer(columns: columns, extra: [CollectorTime.boundColumn])
        writer.begin(into: &output)
        var remainingRows = limit ?? .max
        var isEmpty = true
        for device in devices where remainingRows > 0 {
            let range = converter.deviceRange(of: device)
            do {
                try reader.query(
                    stream: stream, detail: detail, group: device.group, devices: [device.device], from: range.from,
                    to: range.to, limit: nil
                ) { row in
                    guard let converted = converter.convert(row, columns: columns) else { return }
                    isEmpty = false
                    writer.write(converted, into: &output)
                    remainingRows -= 1
                    if output.isFull {
                        Terminal.output.write(output.bytes)
                        output.removeAll()
                    }
                    if remainingRows <= 0 { throw LimitReached() }
                }
            } catch is LimitReached {}
        }
        if isEmpty, limit != 0 { try explainNothing(stream, nil, selections, reader) }
    }
}
