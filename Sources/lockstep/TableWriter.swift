import ArgumentParser
import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepStore

/// Writes rows as a table for people.
struct TableWriter: RowWriter {
    private let columns: [Column]
    /// The device of the previous row, and the first bytes of its rows.
    private var device: DeviceAddress?
    private var prefix: [UInt8] = []
    private var times = TimeWriter { $0.shown(decimals: 6) }

    private struct Column {
        let kind: SensorStream.Kind
        /// Whether the values are shown as ISO 8601.
        let isTime: Bool
        let title: String
        /// The width of a cell in characters, including the space before it. It is fixed, because rows are written
        /// before the later ones are known.
        let width: Int
    }

    /// Creates a writer.
    /// - Parameters:
    ///   - columns: the columns after device and time.
    ///   - extra: further columns, after these.
    init(columns: [SensorStream.Column], extra: [ExportColumn] = []) {
        let own = columns.map { column in
            let hasUnit = !column.unit.isEmpty && !column.isTime
            let title = hasUnit ? "\(column.name) (\(column.unit))" : column.name
            return Column(
                kind: column.kind, isTime: column.isTime, title: title,
                width: max(column.isTime ? Self.timeWidth + 2 : 14, title.count + 2))
        }
        self.columns =
            own + extra.map { Column(kind: $0.kind, isTime: false, title: $0.name, width: max(14, $0.name.count + 2)) }
    }

    /// Writes the header, with units.
    func begin(into output: inout OutputBuffer) {
        output.append(padded("device", Self.deviceWidth))
        output.append("time")
        output.append(spaces: Self.timeWidth - 4)
        for column in columns { write(cell: column.title, column.width, into: &output) }
        output.append("\n")
    }

    mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer) {
        if row.device != device {
            device = row.device
            prefix = Array(padded(row.device.description, Self.deviceWidth).utf8)
        }
        output.append(prefix)
        times.write(row.time, into: &output)
        for (column, value) in zip(columns, row.values) {
            write(cell: text(value, column), column.width, into: &output)
        }
        output.append("\n")
    }

    func end(into output: inout OutputBuffer) {}

    private static let deviceWidth = 22
    private static let timeWidth = DisplayZone.isLocal ? 32 : 27

    private func text(_ value: Double, _ column: Column) -> String {
        if value.isNaN { return "-" }
        switch column.kind {
        case .real: return number(value)
        case .integer:
            guard let number = Int64(exactly: value) else { return value.description }
            return column.isTime ? Timestamp(microseconds: number).shown(decimals: 6) : String(number)
        case .choice(let words): return words[Int(value)]
        }
    }

    /// Writes a right-aligned cell with at least one space before it.
    private func write(cell text: String, _ width: Int, into output: inout OutputBuffer) {
        output.append(spaces: max(1, width - text.count))
        output.append(text)
    }

    /// Returns the text padded to `width`, with at least two spaces at its end.
    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(2, width - text.count))
    }
}

/// The output format of samples.
enum RowFormat: String, EnumerableFlag {
    case text, csv, json

    static func name(for value: RowFormat) -> NameSpecification { value == .text ? .customLong("text") : .long }

    static func help(for value: RowFormat) -> ArgumentHelp? {
        switch value {
        case .text: "Print an aligned table."
        case .csv: "Print CSV with a header; unknown values are empty."
        case .json: "Print one JSON object per line; unknown values are null."
        }
    }

    /// Creates a writer of this format.
    /// - Parameters:
    ///   - columns: the columns after device and time.
    ///   - extra: further columns, after these.
    ///   - stream: the name of the stream for the column `stream` of CSV and JSON, or nil to leave it out.
    func writer(columns: [SensorStream.Column], extra: [ExportColumn] = [], stream: String? = nil) -> any RowWriter {
        switch self {
        case .text: TableWriter(columns: columns, extra: extra)
        case .csv: CSVWriter(columns: columns.map(ExportColumn.init) + extra, stream: stream)
        case .json: NDJSONWriter(columns: columns.map(ExportColumn.init) + extra, stream: stream)
        }
    }
}
