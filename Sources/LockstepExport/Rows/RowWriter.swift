import LockstepModel
public import LockstepStore

/// A writer of the rows of one or several streams in one file format. Its memory does not grow with their number.
///
/// Call ``begin(into:)`` once, ``write(_:stream:into:)`` for each row, and ``end(into:)`` once. The rows of a device are in
/// order of time. Write the buffer when it ``OutputBuffer/isFull``.
public protocol RowWriter: Sendable {
    /// Writes what precedes the rows, such as a header.
    mutating func begin(into output: inout OutputBuffer)
    /// Writes one row. Its values are in the order of the columns.
    /// - Parameter stream: the index of its stream.
    mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer)
    /// Writes what follows the rows.
    mutating func end(into output: inout OutputBuffer)
}

extension RowWriter {
    /// Writes one row of the only stream.
    public mutating func write(_ row: SampleRow, into output: inout OutputBuffer) {
        write(row, stream: 0, into: &output)
    }
}

/// Writes rows as CSV (RFC 4180, with line feeds) in UTF-8.
///
/// The columns are `group`, `device`, `stream` if given, `t` (µs since 1970), `time` (ISO 8601 in UTC), then those of the
/// rows. Unknown values are empty.
public struct CSVWriter: RowWriter {
    private let columns: [ExportColumn]
    private let hasDevice: Bool
    private let stream: String?
    /// The device of the previous row, and the first bytes of its rows.
    private var device: DeviceAddress?
    private var prefix: [UInt8] = []
    private var times = TimeWriter()

    /// Creates a writer.
    /// - Parameters:
    ///   - columns: the columns after device and time.
    ///   - stream: the name of the stream for the column `stream`, or nil to leave it out.
    ///   - hasDevice: whether there are the columns `group`, `device` and `stream`.
    public init(columns: [ExportColumn], stream: String? = nil, hasDevice: Bool = true) {
        self.stream = stream
        self.columns = columns
        self.hasDevice = hasDevice
    }

    public func begin(into output: inout OutputBuffer) {
        let names =
            (hasDevice ? ["group", "device"] + (stream == nil ? [] : ["stream"]) : []) + ["t", "time"]
            + columns.map { $0.name.csvField }
        output.append(names.joined(separator: ",") + "\n")
    }

    public mutating func write(_ row: SampleRow, stream index: Int, into output: inout OutputBuffer) {
        if hasDevice, row.device != device {
            device = row.device
            let stream = stream.map { $0.csvField + "," } ?? ""
            prefix = Array("\(row.device.group),\(row.device.device),\(stream)".utf8)
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
        self.columns = columns.map { ($0.kind, Array(",\"\($0.name.jsonText)\":".utf8)) }
    }

    public func begin(into output: inout OutputBuffer) {}

    public mutating func write(_ row: SampleRow, stream index: Int, into output: inout OutputBuffer) {
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
        let stream = stream.map { #""stream":"\#($0.jsonText)","# } ?? ""
        prefix = Array(#"{"group":"\#(device.group)","device":"\#(device.device)",\#(stream)"t":"#.utf8)
    }
}

/// Writes rows as one JSON object, whose member `rows` is an array with an array for each row: the time in µs since
/// 1970, then the values. Unknown values are null.
public struct JSONRowsWriter: RowWriter {
    private let members: [(name: String, json: String)]
    private let columns: [ExportColumn]
    private var isFirst = true

    /// Creates a writer.
    /// - Parameters:
    ///   - members: the members before `rows`, each with its value as JSON, see ``string(_:)`` and ``strings(_:)``.
    ///   - columns: the columns of the rows after the time.
    public init(members: [(name: String, json: String)], columns: [ExportColumn]) {
        self.members = members
        self.columns = columns
    }

    public func begin(into output: inout OutputBuffer) {
        output.append("{")
        for member in members { output.append("\(Self.string(member.name)):\(member.json),") }
        output.append("\"rows\":[")
    }

    public mutating func write(_ row: SampleRow, stream index: Int, into output: inout OutputBuffer) {
        output.append(isFirst ? "[" : ",[")
        isFirst = false
        output.append(row.time.microseconds)
        for (column, value) in zip(columns, row.values) {
            output.append(byte: UInt8(ascii: ","))
            output.append(json: value, column.kind)
        }
        output.append(byte: UInt8(ascii: "]"))
    }

    public func end(into output: inout OutputBuffer) { output.append("]}\n") }

    /// Returns a text as a JSON string.
    public static func string(_ text: String) -> String { "\"\(text.jsonText)\"" }

    /// Returns texts as a JSON array of strings.
    public static func strings(_ texts: [String]) -> String { "[\(texts.map(string).joined(separator: ","))]" }
}
