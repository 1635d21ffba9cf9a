public import LockstepModel

/// The CBOR form of a batch: one map with the keys of the JSON form, and the same values in fewer bytes.
///
/// A column is what takes few bytes of
///
/// - an array of numbers, texts and nulls, as in JSON: where there is one sample, a word, or a null;
/// - a byte string: a packed series, see ``SeriesPacker``, where all values are decimal fractions, as what sensors give
///   is;
/// - a typed array of RFC 8746, of little-endian float32 (tag 85) or float64 (tag 86), where they are not;
/// - in any column but the first, where all values are alike, a single number or text that holds for all samples.
///
/// `dt` is a single number where all steps are alike, else an array or a packed series.
public enum BatchCBOR {
    public static func encode(_ batch: Batch) -> [UInt8] {
        let samples = batch.samples
        let columns = zip(samples.stream.columns, samples.columns).filter { column, values in
            column.isRequired || values.contains { !$0.isNaN }
        }
        var encoder = BatchEncoder(reservingCapacity: 128 + samples.count * columns.count * 3)
        let isSpaced = samples.count > 1
        encoder.writer.map(
            1 + (batch.position == nil ? 0 : 2) + (batch.isLive ? 0 : 1) + (samples.isEmpty ? 0 : 1)
                + (isSpaced ? 1 : 0) + columns.count)
        encoder.member("v", BatchRules.version)
        if let position = batch.position {
            encoder.member("epoch", position.epoch.rawValue)
            encoder.member("seq", position.seq)
        }
        if !batch.isLive { encoder.member("live", false) }
        if let first = samples.times.first { encoder.member("t", first) }
        if isSpaced { encoder.steps(of: samples.times) }
        for (index, (column, values)) in columns.enumerated() {
            encoder.column(column, values, mayBeSingle: index > 0)
        }
        return encoder.writer.bytes
    }

    /// The same payload with `"live":false`: how a batch kept as encoded is sent late or again.
    /// - Precondition: `payload` is one that ``encode(_:)`` wrote, of a live batch.
    public static func markingLate(_ payload: [UInt8]) -> [UInt8] {
        payload.withUnsafeBytes { bytes in
            var reader = CBORReader(bytes)
            guard case .map(let count)? = try? reader.next() else { preconditionFailure("a batch is a map") }
            var writer = CBORWriter(reservingCapacity: payload.count + 8)
            writer.map(count + 1)
            writer.text("live")
            writer.bool(false)
            return writer.bytes + bytes[reader.offset...]
        }
    }
}

/// Writes the members of a batch, with room for numbers that serves all its columns.
private struct BatchEncoder {
    var writer: CBORWriter
    private var packer = SeriesPacker()
    private var numbers: [Int64] = []

    init(reservingCapacity capacity: Int) { writer = CBORWriter(reservingCapacity: capacity) }

    mutating func member(_ name: String, _ value: Int64) {
        writer.text(name)
        writer.integer(value)
    }

    mutating func member(_ name: String, _ value: Bool) {
        writer.text(name)
        writer.bool(value)
    }

    mutating func member(_ name: String, _ value: String) {
        writer.text(name)
        writer.text(value)
    }

    mutating func steps(of times: [Int64]) {
        writer.text("dt")
        numbers.removeAll(keepingCapacity: true)
        for index in 1..<times.count { numbers.append(times[index] - times[index - 1]) }
        if numbers.allSatisfy({ $0 == numbers[0] }) {
            writer.integer(numbers[0])
        } else {
            packer.pack(numbers, decimals: 0, into: &writer)
        }
    }

    mutating func column(_ column: SensorStream.Column, _ values: [Double], mayBeSingle: Bool) {
        writer.text(column.name)
        if mayBeSingle, values.count > 1, column.kind.takes(values[0]),
            // By their bits: 0 and -0 are equal, but not alike.
            values.allSatisfy({ $0.bitPattern == values[0].bitPattern })
        {
            item(values[0], column.kind)
        } else if values.count > 1, series(values, column.kind) {
            return
        } else {
            writer.array(values.count)
            for value in values { item(value, column.kind) }
        }
    }

    /// - Returns: whether the column can be written so: it has neither words nor nulls.
    private mutating func series(_ values: [Double], _ kind: SensorStream.Kind) -> Bool {
        if case .choice = kind { return false }
        if let decimals = Decimals.scale(values, into: &numbers), decimals == 0 || kind == .real {
            packer.pack(numbers, decimals: decimals, into: &writer)
            return true
        }
        guard values.allSatisfy(kind.takes) else { return false }
        if values.allSatisfy({ Double(Float($0)) == $0 }) {
            writer.tag(TypedArray.float32.rawValue)
            writer.byteString(values.count * 4) { bytes in
                for value in values {
                    withUnsafeBytes(of: Float(value).bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
                }
            }
        } else {
            writer.tag(TypedArray.float64.rawValue)
            writer.byteString(values.count * 8) { bytes in
                for value in values {
                    withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
                }
            }
        }
        return true
    }

    private mutating func item(_ value: Double, _ kind: SensorStream.Kind) {
        guard kind.takes(value) else { return writer.null() }
        switch kind {
        case .real: writer.float(value)
        case .integer: writer.integer(Int64(value))
        case .choice(let words): writer.text(words[Int(value)])
        }
    }
}

/// Tags of RFC 8746 for arrays of little-endian numbers in a byte string.
enum TypedArray: UInt64 {
    case float32 = 85
    case float64 = 86
}
