import LockstepModel
import LockstepStore

/// Writes samples as one SenML pack (RFC 8428), in JSON or CBOR.
///
/// Each known value is a record. The first record of a device has the base name `urn:x-lockstep:GROUP:DEVICE:`, the first
/// record of a sample the base time.
struct SenMLWriter: RowWriter {
    /// Earlier times, in µs, would be relative to the time of reading: 2²⁸ s.
    static let earliest: Int64 = (1 << 28) * 1_000_000

    private let columns: [[SenMLColumn]]
    private let isCBOR: Bool
    private var device: DeviceAddress?
    private var isFirst = true

    init(streams: [SensorStream], isCBOR: Bool) {
        columns = streams.map { stream in stream.columns.map { SenMLColumn($0, of: stream) } }
        self.isCBOR = isCBOR
    }

    func begin(into output: inout OutputBuffer) {
        // The number of records is not known yet: an array of indefinite length.
        if isCBOR { output.append(byte: 0x9f) } else { output.append("[") }
    }

    mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer) {
        var time: Int64? = row.time.microseconds
        for (column, value) in zip(columns[stream], row.values) {
            guard let value = SenMLValue(value, column) else { continue }
            let base = row.device == device ? nil : "urn:x-lockstep:\(row.device.group):\(row.device.device):"
            device = row.device
            if isCBOR {
                writeCBOR(column, value, base: base, time: time, into: &output)
            } else {
                writeJSON(column, value, base: base, time: time, into: &output)
            }
            time = nil
        }
    }

    func end(into output: inout OutputBuffer) {
        if isCBOR { output.append(byte: 0xff) } else { output.append("\n]\n") }
    }

    private mutating func writeJSON(
        _ column: SenMLColumn, _ value: SenMLValue, base: String?, time: Int64?, into output: inout OutputBuffer
    ) {
        output.append(isFirst ? "\n{" : ",\n{")
        isFirst = false
        if let base { output.append(#""bn":"\#(base)","#) }
        if let time {
            // Decimal digits, because a floating-point number could change the last one.
            output.append(#""bt":"#)
            output.append(time / 1_000_000)
            output.append(byte: UInt8(ascii: "."))
            output.append(UInt64(time % 1_000_000), digits: 6)
            output.append(",")
        }
        output.append(#""n":"\#(column.name.jsonText)","#)
        if let unit = column.unit { output.append(#""u":"\#(unit)","#) }
        switch value {
        case .integer(let number):
            output.append(#""v":"#)
            output.append(number)
        case .real(let number): output.append(#""v":\#(number)"#)
        case .word(let word): output.append(#""vs":"\#(word.jsonText)""#)
        }
        output.append("}")
    }

    private func writeCBOR(
        _ column: SenMLColumn, _ value: SenMLValue, base: String?, time: Int64?, into output: inout OutputBuffer
    ) {
        let members = 2 + (base == nil ? 0 : 1) + (time == nil ? 0 : 1) + (column.unit == nil ? 0 : 1)
        output.append(byte: 0xa0 | UInt8(members))
        if let base {
            output.append(label: -2)
            output.append(cbor: base)
        }
        if let time {
            output.append(label: -3)
            // Nearer to the time than half a microsecond until the year 2242.
            output.append(cbor: Double(time) / 1_000_000)
        }
        output.append(label: 0)
        output.append(cbor: column.name)
        if let unit = column.unit {
            output.append(label: 1)
            output.append(cbor: unit)
        }
        switch value {
        case .integer(let number):
            output.append(label: 2)
            output.append(cbor: number)
        case .real(let number):
            output.append(label: 2)
            output.append(cbor: number)
        case .word(let word):
            output.append(label: 3)
            output.append(cbor: word)
        }
    }
}

private enum SenMLValue {
    case integer(Int64)
    case real(Double)
    case word(String)

    /// Returns nil if the value is unknown.
    init?(_ value: Double, _ column: SenMLColumn) {
        guard value.isFinite else { return nil }
        if let words = column.words {
            guard let index = Int(exactly: value), words.indices.contains(index) else { return nil }
            self = .word(words[index])
        } else if column.factor == 1, abs(value) <= 0x1p53, let number = Int64(exactly: value) {
            self = .integer(number)
        } else {
            self = .real(value * column.factor)
        }
    }
}

extension OutputBuffer {
    /// Appends the label of a field in CBOR.
    fileprivate mutating func append(label: Int64) { append(cbor: label) }

    /// Appends a whole number in CBOR.
    fileprivate mutating func append(cbor number: Int64) {
        if number >= 0 { appendHead(0x00, UInt64(number)) } else { appendHead(0x20, UInt64(~number)) }
    }

    /// Appends a number of double precision in CBOR.
    fileprivate mutating func append(cbor number: Double) {
        append(byte: 0xfb)
        appendBytes(number.bitPattern, count: 8)
    }

    /// Appends a text in CBOR.
    fileprivate mutating func append(cbor text: String) {
        appendHead(0x60, UInt64(text.utf8.count))
        append(text)
    }

    private mutating func appendHead(_ type: UInt8, _ argument: UInt64) {
        switch argument {
        case 0..<24: append(byte: type | UInt8(argument))
        case 24...0xff: appendArgument(type | 24, argument, count: 1)
        case 0x100...0xffff: appendArgument(type | 25, argument, count: 2)
        case 0x1_0000...0xffff_ffff: appendArgument(type | 26, argument, count: 4)
        default: appendArgument(type | 27, argument, count: 8)
        }
    }

    private mutating func appendArgument(_ head: UInt8, _ argument: UInt64, count: Int) {
        append(byte: head)
        appendBytes(argument, count: count)
    }

    private mutating func appendBytes(_ number: UInt64, count: Int) {
        for shift in stride(from: (count - 1) * 8, through: 0, by: -8) {
            append(byte: UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }
}

/// The SenML form of a column: its name, and its unit as in the registry of RFC 8428 and RFC 8798.
struct SenMLColumn {
    /// `TABLE.COLUMN`, which the gateway reads again.
    let name: String
    /// The unit, or nil if SenML has none for the column.
    let unit: String?
    let factor: Double
    /// The words of a column of kind `choice`.
    let words: [String]?

    init(_ column: SensorStream.Column, of stream: SensorStream) {
        name = stream.table + "." + column.name
        words = if case .choice(let words) = column.kind { words } else { nil }
        (unit, factor) = Self.conversion(column, stream)
    }

    private static let registered: Set<String> = [
        "m", "kg", "s", "A", "K", "cd", "mol", "Hz", "rad", "sr", "N", "Pa", "J", "W", "C", "V", "F", "Ohm", "S", "Wb",
        "T", "H", "Cel", "lm", "lx", "Bq", "Gy", "Sv", "kat", "m2", "m3", "m/s", "m/s2", "m3/s", "W/m2", "cd/m2", "bit",
        "bit/s", "pH", "dB", "dBW", "count", "/", "%", "%RH", "%EL", "EL", "1/s", "1/min", "S/m", "ms", "min", "h",
        "hPa", "mm", "cm", "km", "km/h", "mV", "mA", "ppm", "dBm",
    ]

    private static func conversion(_ column: SensorStream.Column, _ stream: SensorStream) -> (String?, Double) {
        switch (column.unit, column.name) {
        case ("°", "lat"): ("lat", 1)
        case ("°", "lon"): ("lon", 1)
        case ("°", _): ("rad", .pi / 180)
        // In SenML, g is the gram.
        case ("g", _): ("m/s2", 9.80665)
        case ("µT", _): ("T", 1e-6)
        case ("°C", _): ("Cel", 1)
        case ("", _): (stream == .battery && column.name == "level" ? "/" : nil, 1)
        case (let unit, _): (registered.contains(unit) ? unit : nil, 1)
        }
    }
}
