import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepStore

/// How samples are written.
enum RowFormat: String, EnumerableFlag {
    case text, csv, json

    static func name(for value: RowFormat) -> NameSpecification { value == .text ? .customLong("text") : .long }

    static func help(for value: RowFormat) -> ArgumentHelp? {
        switch value {
        case .text: "A table for people (default)."
        case .csv: "CSV with a header; a value that is not known is empty."
        case .json: "One JSON object a line; a value that is not known is null."
        }
    }
}

/// Writes samples one by one; the hot path of `lockstep query`.
struct RowWriter {
    private let stream: SensorStream
    private let format: RowFormat
    /// The device of the last row, and how a row of it begins.
    private var device: DeviceAddress?
    private var prefix = ""

    init(stream: SensorStream, format: RowFormat) {
        self.stream = stream
        self.format = format
    }

    func writeHeader(into output: inout OutputBuffer) {
        switch format {
        case .json: return
        case .csv: output.append("group,device,t,time," + stream.columns.map(\.name).joined(separator: ","))
        case .text:
            output.append(padded("DEVICE", 24) + padded("TIME", 29))
            for column in stream.columns {
                output.append(leftPadded(column.unit.isEmpty ? column.name : "\(column.name) \(column.unit)", 15))
            }
        }
        output.endLine()
    }

    mutating func write(_ row: SampleRow, into output: inout OutputBuffer) {
        if row.device != device { startDevice(row.device) }
        output.append(prefix)
        switch format {
        case .csv:
            output.append("\(row.time.microseconds),\(row.time.description)")
            for (column, value) in zip(stream.columns, row.values) {
                output.append(",")
                if !value.isNaN { output.append(text(value, column.kind)) }
            }
        case .json:
            output.append(#""t":\#(row.time.microseconds),"time":"\#(row.time.description)""#)
            for (column, value) in zip(stream.columns, row.values) {
                output.append(#","\#(column.name)":"#)
                if case .choice = column.kind, !value.isNaN {
                    output.append("\"\(text(value, column.kind))\"")
                } else {
                    output.append(value.isNaN ? "null" : text(value, column.kind))
                }
            }
            output.append("}")
        case .text:
            output.append(padded(row.time.description, 29))
            for (column, value) in zip(stream.columns, row.values) {
                output.append(leftPadded(value.isNaN ? "-" : rounded(value, column.kind), 15))
            }
        }
        output.endLine()
    }

    private mutating func startDevice(_ device: DeviceAddress) {
        self.device = device
        switch format {
        case .csv: prefix = "\(device.group),\(device.device),"
        case .json: prefix = #"{"group":"\#(device.group)","device":"\#(device.device)","#
        case .text: prefix = padded(device.description, 24)
        }
    }

    private func text(_ value: Double, _ kind: SensorStream.Kind) -> String {
        switch kind {
        case .real: value.description
        case .integer: String(Int64(value))
        case .choice(let words): words[Int(value)]
        }
    }

    /// To at most seven decimals: enough for a position to the centimetre.
    private func rounded(_ value: Double, _ kind: SensorStream.Kind) -> String {
        guard kind == .real, abs(value) < 1e8 else { return text(value, kind) }
        return ((value * 1e7).rounded() / 1e7).description
    }
}

/// `text` and spaces up to `width`, one at least.
private func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
}

/// Spaces, one at least, and `text`, `width` in all.
private func leftPadded(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(1, width - text.count)) + text
}
