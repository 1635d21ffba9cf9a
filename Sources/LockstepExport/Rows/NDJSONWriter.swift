import LockstepModel
public import LockstepStore

/// Writes rows as one JSON object per line.
///
/// The members are `group`, `device`, `stream` if given, `t` (µs since 1970), `time` (ISO 8601 in UTC), then the
/// columns of the rows. Unknown values are null.
public struct NDJSONWriter: RowWriter {
    private let stream: String?
    private let columns: [(kind: SensorStream.Kind, separator: [UInt8])]
    /// The device of the previous row, and the first bytes of its rows.
    private var device: DeviceAddress?
    private var prefix: [UInt8] = []
    private var times = TimeWriter()

    /// Creates a writer.
    /// - Parameters:
    ///   - columns: the columns after device and time.
    ///   - stream: the name of the stream for the member `stream`, or nil to leave it out.
    public init(columns: [ExportColumn], stream: String? = nil) {
        self.stream = stream
        self.columns = columns.map { ($0.kind, Array(",\"\(OutputBuffer.jsonText($0.name))\":".utf8)) }
    }

    public func begin(into output: inout OutputBuffer) {}

    public mutating func write(_ row: SampleRow, into output: inout OutputBuffer) {
        if row.device != device { start(row.device) }
        output.append(prefix)
        output.append(row.time.microseconds)
        output.append(#","time":""#)
        times.write(row.time, into: &output)
        output.append(byte: UInt8(ascii: "\""))
        for (column, value) in zip(columns, row.values) {
            output.append(column.separator)
            output.append(json: value, column.kind)
        }
        output.append("}\n")
    }

    public func end(into output: inout OutputBuffer) {}

    private mutating func start(_ device: DeviceAddress) {
        self.device = device
        let stream = stream.map { #""stream":"\#(OutputBuffer.jsonText($0))","# } ?? ""
        prefix = Array(#"{"group":"\#(device.group)","device":"\#(device.device)",\#(stream)"t":"#.utf8)
    }
}
