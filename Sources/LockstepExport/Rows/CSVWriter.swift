import LockstepModel
public import LockstepStore

/// Writes rows as CSV (RFC 4180, with line feeds) in UTF-8.
///
/// The columns are `group`, `device`, `t` (µs since 1970), `time` (ISO 8601 in UTC), then those of the rows. Unknown
/// values are empty.
public struct CSVWriter: RowWriter {
    private let columns: [ExportColumn]
    private let hasDevice: Bool
    /// The device of the previous row, and the first bytes of its rows.
    private var device: DeviceAddress?
    private var prefix: [UInt8] = []
    private var times = TimeWriter()

    /// Creates a writer.
    /// - Parameters:
    ///   - columns: the columns after device and time.
    ///   - hasDevice: whether there are the columns `group` and `device`.
    public init(columns: [ExportColumn], hasDevice: Bool = true) {
        self.columns = columns
        self.hasDevice = hasDevice
    }

    public func begin(into output: inout OutputBuffer) {
        let names =
            (hasDevice ? ["group", "device"] : []) + ["t", "time"] + columns.map { OutputBuffer.csvField($0.name) }
        output.append(names.joined(separator: ",") + "\n")
    }

    public mutating func write(_ row: SampleRow, into output: inout OutputBuffer) {
        if hasDevice, row.device != device {
            device = row.device
            prefix = Array("\(row.device.group),\(row.device.device),".utf8)
        }
        output.append(prefix)
        output.append(row.time.microseconds)
        output.append(byte: UInt8(ascii: ","))
        times.write(row.time, into: &output)
        for (column, value) in zip(columns, row.values) {
            output.append(byte: UInt8(ascii: ","))
            output.append(csv: value, column.kind)
        }
        output.append(byte: UInt8(ascii: "\n"))
    }

    public func end(into output: inout OutputBuffer) {}
}
