import LockstepCommandLine
import LockstepModel
import LockstepStore

/// Writes samples one by one as a table, CSV or JSON. This is the hot path of `lockstep query`.
struct RowWriter {
    private let format: RowFormat
    private let columns: [Column]
    /// The device of the previous row, and the first bytes of its rows.
    private var device: DeviceAddress?
    private var prefix: [UInt8] = []
    private var times = TimeWriter()

    private struct Column {
        let kind: SensorStream.Kind
        /// Whether a table shows the values as ISO 8601.
        let isTime: Bool
        let title: String
        /// The bytes before a value: `,` or `,"x":`
        let separator: [UInt8]
        /// The width of a cell in characters, including the space before it. It is fixed, because rows are written
        /// before the later ones are known.
        let width: Int
    }

    /// Creates a writer.
    /// - Parameter columns: the columns after device and time.
    init(columns: [SensorStream.Column], format: RowFormat) {
        self.format = format
        self.columns = columns.map { column in
            let isTime = column.isTime && format == .text
            let hasUnit = format == .text && !column.unit.isEmpty && !isTime
            let title = hasUnit ? "\(column.name) (\(column.unit))" : column.name
            return Column(
                kind: column.kind, isTime: isTime, title: title,
                separator: Array((format == .json ? ",\"\(column.name)\":" : ",").utf8),
                width: max(isTime ? Self.timeWidth + 2 : 14, title.count + 2))
        }
    }

    /// Writes the header, with units in tables.
    func writeHeader(into output: inout OutputBuffer) {
        switch format {
        case .json: return
        case .csv: output.append("group,device,t,time," + columns.map(\.title).joined(separator: ","))
        case .text:
            output.append(padded("device", Self.deviceWidth))
            output.append("time")
            output.append(spaces: Self.timeWidth - 4)
            for column in columns { write(cell: column.title, column.width, into: &output) }
        }
        output.endLine()
    }

    /// Writes one sample.
    mutating func write(_ row: SampleRow, into output: inout OutputBuffer) {
        if row.device != device { startDevice(row.device) }
        output.append(prefix)
        if format != .text {
            output.append(row.time.microseconds)
            output.append(format == .json ? #","time":""# : ",")
        }
        times.write(row.time, into: &output)
        if format == .json { output.append(byte: UInt8(ascii: "\"")) }
        for (column, value) in zip(columns, row.values) {
            guard format != .text else {
                write(cell: text(value, column), column.width, into: &output)
                continue
            }
            output.append(column.separator)
            if value.isFinite {
                write(value, column.kind, into: &output)
            } else if format == .json {
                output.append("null")
            }
        }
        if format == .json { output.append(byte: UInt8(ascii: "}")) }
        output.endLine()
    }

    private static let deviceWidth = 22
    private static let timeWidth = 27

    private mutating func startDevice(_ device: DeviceAddress) {
        self.device = device
        let text =
            switch format {
            case .csv: "\(device.group),\(device.device),"
            case .json: #"{"group":"\#(device.group)","device":"\#(device.device)","t":"#
            case .text: padded(device.description, Self.deviceWidth)
            }
        prefix = Array(text.utf8)
    }

    private func write(_ value: Double, _ kind: SensorStream.Kind, into output: inout OutputBuffer) {
        switch kind {
        case .real: output.append(value.description)
        case .integer:
            // SQLite does not enforce types, so other programs may have stored fractions.
            if let number = Int64(exactly: value) { output.append(number) } else { output.append(value.description) }
        case .choice(let words): output.append(format == .json ? "\"\(words[Int(value)])\"" : words[Int(value)])
        }
    }

    /// Returns the text of a value in a table. Numbers have at most seven decimals, enough for a position to 1 cm.
    private func text(_ value: Double, _ column: Column) -> String {
        if value.isNaN { return "-" }
        switch column.kind {
        case .real: return abs(value) < 1e8 ? ((value * 1e7).rounded() / 1e7).description : value.description
        case .integer:
            guard let number = Int64(exactly: value) else { return value.description }
            return column.isTime ? Timestamp(microseconds: number).description : String(number)
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
