public import LockstepModel

/// The CBOR encoding of a batch: one map with the keys and values of the JSON encoding.
///
/// A column has one of these forms:
///
/// - An array of numbers, strings and nulls, as in JSON: for a single sample, for words, and for columns with nulls.
/// - A byte string with a packed series (see `SeriesPacker`): for decimal fractions, which most sensor readings are.
/// - A typed array (RFC 8746) of little-endian float32 (tag 85) or float64 (tag 86): for all other numbers.
/// - A single number or string that applies to all samples: for equal values. The first column never has this form,
///   because it determines the number of samples.
///
/// `dt` is a single number if all intervals are equal, otherwise an array or a packed series.
public enum BatchCBOR {
    /// Encodes a batch.
    public static func encode(_ batch: Batch) -> [UInt8] {
        let samples = batch.samples
        let columns = zip(samples.stream.columns, samples.columns).filter { column, values in
            column.isRequired || values.contains { !$0.isNaN }
        }
        var encoder = BatchEncoder(reservingCapacity: 128 + samples.count * columns.count * 3)
        let hasIntervals = samples.count > 1
        encoder.writer.map(
            1 + (batch.position == nil ? 0 : 2) + (batch.isLive ? 0 : 1) + (samples.isEmpty ? 0 : 1)
                + (hasIntervals ? 1 : 0) + columns.count)
        encoder.member("v", BatchRules.version)
        if let position = batch.position {
            encoder.member("epoch", position.epoch.rawValue)
            encoder.member("seq", position.seq)
        }
        if !batch.isLive { encoder.member("live", false) }
        if let first = samples.times.first { encoder.member("t", first) }
        if hasIntervals { encoder.intervals(of: samples.times) }
        for (index, (column, values)) in columns.enumerated() {
            encoder.column(column, values, canBeSingleValue: index > 0)
        }
        return encoder.writer.bytes
    }
}

/// An encoder for the members of a batch. All columns share one buffer for scaled numbers.
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

    mutating func intervals(of times: [Int64]) {
        writer.text("dt")
        numbers.removeAll(keepingCapacity: true)
        for index in 1..<times.count { numbers.append(times[index] - times[index - 1]) }
        if numbers.allSatisfy({ $0 == numbers[0] }) {
            writer.integer(numbers[0])
        } else {
            packer.pack(numbers, decimals: 0, into: &writer)
        }
    }

    mutating func column(_ column: SensorStream.Column, _ values: [Double], canBeSingleValue: Bool) {
        writer.text(column.name)
        if canBeSingleValue, values.count > 1, column.kind.accepts(values[0]),
            // Compare bit patterns: 0 equals -0, but its encoding differs.
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

    /// Writes a column as a packed series or typed array.
    /// - Returns: false, and nothing is written, if the column has words or nulls.
    private mutating func series(_ values: [Double], _ kind: SensorStream.Kind) -> Bool {
        if case .choice = kind { return false }
        if let decimals = Decimals.scale(values, into: &numbers), decimals == 0 || kind == .real {
            packer.pack(numbers, decimals: decimals, into: &writer)
            return true
        }
        guard values.allSatisfy(kind.accepts) else { return false }
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
        guard kind.accepts(value) else { return writer.null() }
        switch kind {
        case .real: writer.float(value)
        case .integer: writer.integer(Int64(value))
        case .choice(let words): writer.text(words[Int(value)])
        }
    }
}

/// The tags of typed arrays with little-endian floating-point numbers (RFC 8746).
enum TypedArray: UInt64 {
    case float32 = 85
    case float64 = 86
}
