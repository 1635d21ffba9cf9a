import LockstepModel
import LockstepSQLite

/// The samples of one row of `_waiting` as JSON: `[[0,0.5,null,-1.0],[20000,0.25,0.0,-1.0]]`.
///
/// Each sample has its time after the first one in µs, and its values in the order of the columns of the stream's table.
/// A value is read as exactly the number that was written.
struct WaitingRows {
    /// The kind of each value, or nil for a column that this program does not know.
    private let kinds: [SensorStream.Kind?]
    /// The index of the stream's column for each value.
    private let indexes: [Int?]
    /// Whether each value is a real number. A separate array avoids the reference counting of reading the kinds.
    private let isReal: [Bool]
    private let stream: SensorStream

    init(_ stream: SensorStream, _ columns: RowColumns) {
        self.stream = stream
        indexes = columns.indexes
        kinds = columns.indexes.map { index in index.map { stream.columns[$0].kind } }
        isReal = kinds.map { $0 == .real }
    }

    /// Appends some samples of a block as JSON.
    /// - Parameter start: the time that times are relative to.
    func encode(_ samples: some Collection<Int>, of block: SampleBlock, after start: Int64, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "["))
        for sample in samples {
            json.append(UInt8(ascii: "["))
            Self.append(block.times[sample] &- start, to: &json)
            for (position, column) in indexes.enumerated() {
                json.append(UInt8(ascii: ","))
                guard let column else {
                    json.append(contentsOf: "null".utf8)
                    continue
                }
                let value = block.columns[column][sample]
                if isReal[position] {
                    Self.append(value, to: &json)
                } else {
                    json.append(contentsOf: stream.columns[column].kind.json(value).utf8)
                }
            }
            json.append(UInt8(ascii: "]"))
            json.append(UInt8(ascii: ","))
        }
        if json.last == UInt8(ascii: ",") { json.removeLast() }
        json.append(UInt8(ascii: "]"))
    }

    private static func append(_ value: Int64, to json: inout [UInt8]) {
        guard value >= 0 else { return json.append(contentsOf: String(value).utf8) }
        appendDigits(UInt64(value), to: &json)
    }

    private static func appendDigits(_ value: UInt64, to json: inout [UInt8]) {
        let start = json.count
        var rest = value
        repeat {
            json.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        json[start...].reverse()
    }

    /// Appends a real number. Most measured values have up to six decimals.
    private static func append(_ value: Double, to json: inout [UInt8]) {
        guard let millionths = value.exactInteger(scaledBy: 1e6) else {
            if value.isNaN { return json.append(contentsOf: "null".utf8) }
            // JSON has no infinity. A number beyond the range is read as one.
            if value.isInfinite { return json.append(contentsOf: (value < 0 ? "-9e999" : "9e999").utf8) }
            return json.append(contentsOf: value.description.utf8)
        }
        if millionths < 0 { json.append(UInt8(ascii: "-")) }
        let magnitude = millionths.magnitude
        appendDigits(magnitude / 1_000_000, to: &json)
        json.append(UInt8(ascii: "."))
        var decimals = magnitude % 1_000_000
        var unit: UInt64 = 100_000
        repeat {
            json.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: decimals / unit))
            decimals %= unit
            unit /= 10
        } while decimals > 0
    }

    /// Calls `body` with the time and the values of each sample, in the order of the stream's columns. What a person has
    /// changed to something else ends the samples.
    func decode(_ json: UnsafeBufferPointer<UInt8>, after start: Int64, _ body: (Int64, [Double]) -> Void) {
        var scanner = JSONRowScanner(bytes: json)
        var values = [Double](repeating: .nan, count: stream.columns.count)
        guard scanner.skip("[") else { return }
        while scanner.skip("["), let offset = scanner.integer() {
            // Rows that waited before a column was added have fewer values.
            for index in values.indices { values[index] = .nan }
            var position = 0
            while scanner.skip(",") {
                let kind = position < kinds.count ? kinds[position] : nil
                let value = scanner.value(kind)
                if position < indexes.count, let column = indexes[position] { values[column] = value }
                position += 1
            }
            body(start &+ offset, values)
            guard scanner.skip("]"), scanner.skip(",") else { return }
        }
    }

    /// Decodes the rows in a column of the current row of a statement.
    func decode(
        _ statement: SQLiteStatement, at column: Int, after start: Int64, _ body: (Int64, [Double]) -> Void
    ) {
        statement.withText(at: column) { decode($0, after: start, body) }
    }
}

/// Reads the JSON that ``WaitingRows`` writes.
private struct JSONRowScanner {
    let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// Skips a character, if it is the next one.
    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func integer() -> Int64? {
        let number = number()
        return number.isExact ? Int64(number.value) : Int64(text(from: number.start))
    }

    mutating func value(_ kind: SensorStream.Kind?) -> Double {
        guard position < bytes.count else { return .nan }
        switch bytes[position] {
        case UInt8(ascii: "n"):
            position = min(position + 4, bytes.count)
            return .nan
        case UInt8(ascii: "\""):
            let word = string()
            return kind?.words?.firstIndex(of: word).map(Double.init) ?? .nan
        default:
            let number = number()
            return number.isExact ? number.value : Double(text(from: number.start)) ?? .nan
        }
    }

    /// Reads a number. It is exact if it has at most 15 digits and no exponent: then the quotient is rounded correctly.
    private mutating func number() -> (value: Double, isExact: Bool, start: Int) {
        let start = position
        var digits: UInt64 = 0
        var count = 0
        var decimals = -1
        var isNegative = false
        var isExact = true
        loop: while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if count < 18 { digits = digits &* 10 &+ UInt64(byte &- UInt8(ascii: "0")) }
                if digits > 0 { count += 1 }
                if decimals >= 0 { decimals += 1 }
            case UInt8(ascii: "."): decimals = 0
            case UInt8(ascii: "-") where position == start: isNegative = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "+"), UInt8(ascii: "-"): isExact = false
            default: break loop
            }
            position += 1
        }
        guard isExact, count <= 15, position > start, decimals < Self.powers.count else { return (0, false, start) }
        let value = Double(digits) / Self.powers[max(0, decimals)]
        return (isNegative ? -value : value, true, start)
    }

    /// The powers of ten that are exact.
    private static let powers: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20,
        1e21, 1e22,
    ]

    private func text(from start: Int) -> String { String(decoding: bytes[start..<position], as: UTF8.self) }

    private mutating func string() -> String {
        position += 1
        var characters: [UInt8] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            if bytes[position] == UInt8(ascii: "\\") { position += 1 }
            if position < bytes.count { characters.append(bytes[position]) }
            position += 1
        }
        position = min(position + 1, bytes.count)
        return String(decoding: characters, as: UTF8.self)
    }
}
