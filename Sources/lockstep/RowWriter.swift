import LockstepCommandLine
import LockstepModel
import LockstepStore

/// Writes samples one by one; the hot path of `lockstep query`.
struct RowWriter {
    private let format: RowFormat
    private let columns: [Column]
    /// The device of the last row, and how a row of it begins.
    private var device: DeviceAddress?
    private var beginning: [UInt8] = []
    private var times = TimeWriter()

    private struct Column {
        let kind: SensorStream.Kind
        let title: String
        /// What goes before the value: `,` or `,"x":`
        let separator: [UInt8]
        /// Characters of a cell, the space before it included; the table never sees more than one row at a time.
        let width: Int
    }

    init(columns: [SensorStream.Column], format: RowFormat) {
        self.format = format
        self.columns = columns.map { column in
            let title = format == .csv || column.unit.isEmpty ? column.name : "\(column.name) \(column.unit)"
            return Column(
                kind: column.kind, title: title,
                separator: Array((format == .json ? ",\"\(column.name)\":" : ",").utf8),
                width: max(14, title.count + 2))
        }
    }

    func writeHeader(into output: inout OutputBuffer) {
        switch format {
        case .json: return
        case .csv: output.append("group,device,t,time," + columns.map(\.title).joined(separator: ","))
        case .text:
            output.append(padded("DEVICE", Self.deviceWidth))
            output.append("TIME")
            output.append(spaces: Self.timeWidth - 4)
            for column in columns { write(cell: column.title, column.width, into: &output) }
        }
        output.endLine()
    }

    mutating func write(_ row: SampleRow, into output: inout OutputBuffer) {
        if row.device != device { startDevice(row.device) }
        output.append(beginning)
        if format != .text {
            output.append(row.time.microseconds)
            output.append(format == .json ? #","time":""# : ",")
        }
        times.write(row.time, into: &output)
        if format == .json { output.append(byte: UInt8(ascii: "\"")) }
        for (column, value) in zip(columns, row.values) {
            guard format != .text else {
                write(cell: value.isNaN ? "-" : rounded(value, column.kind), column.width, into: &output)
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
        beginning = Array(text.utf8)
    }

    private func write(_ value: Double, _ kind: SensorStream.Kind, into output: inout OutputBuffer) {
        switch kind {
        case .real: output.append(value.description)
        case .integer:
            // Other programs may have written the table too, and SQLite does not mind.
            if let number = Int64(exactly: value) { output.append(number) } else { output.append(value.description) }
        case .choice(let words): output.append(format == .json ? "\"\(words[Int(value)])\"" : words[Int(value)])
        }
    }

    /// A value as people read it, with at most seven decimals: enough for a position to the centimetre.
    private func rounded(_ value: Double, _ kind: SensorStream.Kind) -> String {
        switch kind {
        case .real: abs(value) < 1e8 ? ((value * 1e7).rounded() / 1e7).description : value.description
        case .integer: Int64(exactly: value).map(String.init) ?? value.description
        case .choice(let words): words[Int(value)]
        }
    }

    /// Writes right-aligned, after one space at least.
    private func write(cell text: String, _ width: Int, into output: inout OutputBuffer) {
        output.append(spaces: max(1, width - text.count))
        output.append(text)
    }

    /// `text` and spaces up to `width`, two at least.
    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(2, width - text.count))
    }
}
