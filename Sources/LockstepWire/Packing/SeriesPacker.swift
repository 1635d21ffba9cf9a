/// An encoder that writes a series of integers as Rice-coded differences.
///
/// | Bytes | Content |
/// |---|---|
/// | 1 | the number of decimals d (0…15): an integer n represents the value n / 10ᵈ |
/// | 1 | 64 · o + k, where o is the order of the differences (0…3) and k is the parameter of the ``RiceCode`` (0…40) |
/// | 1 or more | the count of numbers, which is at least o, as a ``Varint`` |
/// | 1 or more each | for number i of the first o numbers (from 0): its difference of order i, as a zigzag ``Varint`` |
/// | the rest | for each further number: its difference of order o, zigzag and Rice coded; zero bits fill the last byte |
///
/// The difference of order 0 is the number itself. The difference of order 1 is the number minus the previous number,
/// the difference of order 2 is the difference of order 1 minus the previous difference of order 1, and so on. A linear
/// series takes about one bit per number at order 2. The magnitude of each number is below 2⁵³.
struct SeriesPacker {
    /// The valid numbers of decimal places.
    static let decimals = 0...15
    /// The valid orders of differences.
    static let orders = 0...3
    /// The exclusive upper limit of the magnitude of a number.
    static let limit: Int64 = 1 << 53

    /// The zigzag-encoded differences of the current series. The buffer is reused, which saves an allocation per
    /// series.
    private var residuals: [UInt64] = []

    /// Writes `numbers` as a byte string.
    mutating func pack(_ numbers: [Int64], decimals: Int, into writer: inout CBORWriter) {
        let order = Self.order(for: numbers)
        computeDifferences(of: numbers, order: order)
        let (code, bits) = RiceCode.best(for: residuals[order...])
        var head = [UInt8(decimals), UInt8(order << 6 | code.parameter)]
        Varint.append(UInt64(numbers.count), to: &head)
        for residual in residuals.prefix(order) { Varint.append(residual, to: &head) }
        writer.byteString(head.count + (bits + 7) / 8) { bytes in
            bytes += head
            var bitWriter = BitWriter()
            for index in order..<residuals.count { bitWriter.write(residuals[index], in: code, to: &bytes) }
            bitWriter.finish(to: &bytes)
        }
    }

    /// Returns the order whose differences have the smallest sum of magnitudes, and at most the count of numbers.
    private static func order(for numbers: [Int64]) -> Int {
        var previous = (Int64(0), Int64(0), Int64(0))
        var sums = SIMD4<Double>()
        for index in numbers.indices {
            let number = numbers[index]
            let first = number - previous.0
            let second = first - previous.1
            let third = second - previous.2
            previous = (number, first, second)
            // The first numbers of a series are encoded separately.
            guard index >= orders.upperBound else { continue }
            sums += SIMD4(
                Double(number.magnitude), Double(first.magnitude), Double(second.magnitude), Double(third.magnitude))
        }
        let best = orders.min { sums[$0] < sums[$1] } ?? 0
        return min(best, numbers.count)
    }

    /// Stores the zigzag-encoded differences of `numbers` in ``residuals``.
    private mutating func computeDifferences(of numbers: [Int64], order: Int) {
        residuals.removeAll(keepingCapacity: true)
        residuals.reserveCapacity(numbers.count)
        var previous = (Int64(0), Int64(0), Int64(0))
        for index in numbers.indices {
            let number = numbers[index]
            let first = number - previous.0
            let second = first - previous.1
            let third = second - previous.2
            previous = (number, first, second)
            let difference =
                switch min(order, index) {
                case 0: number
                case 1: first
                case 2: second
                default: third
                }
            residuals.append(ZigZag.encode(difference))
        }
    }
}

/// Variable-length unsigned integers: seven bits per byte, least significant first. All bytes except the last have bit
/// 7 set.
enum Varint {
    static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Reads a number and advances `offset`. Returns nil if the number is truncated, too large, or not encoded in the
    /// fewest bytes.
    static func read(_ buffer: UnsafeRawBufferPointer, at offset: inout Int) -> UInt64? {
        var number: UInt64 = 0
        for shift in stride(from: 0, to: 64, by: 7) {
            guard offset < buffer.count else { return nil }
            let byte = buffer[offset]
            offset += 1
            let part = UInt64(byte & 0x7f)
            guard (part << UInt64(shift)) >> UInt64(shift) == part else { return nil }
            number |= part << UInt64(shift)
            if byte < 0x80 { return byte == 0 && shift > 0 ? nil : number }
        }
        return nil
    }
}
