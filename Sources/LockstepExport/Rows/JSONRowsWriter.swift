import LockstepModel
public import LockstepStore

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

    public mutating func write(_ row: SampleRow, into output: inout OutputBuffer) {
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
    public static func string(_ text: String) -> String { "\"\(OutputBuffer.jsonText(text))\"" }

    /// Returns texts as a JSON array of strings.
    public static func strings(_ texts: [String]) -> String { "[\(texts.map(string).joined(separator: ","))]" }
}
