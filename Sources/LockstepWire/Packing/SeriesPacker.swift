/// Encodes a series of integers compactly as Rice-coded differences.
///
/// | bytes | content |
/// |---|---|
/// | 1 | the decimals d, 0…15: each number stands for its value divided by 10ᵈ |
/// | 1 | 64 · order o (0…3) + parameter k of the ``RiceCode`` (0…40) |
/// | 1… | the count n of numbers, at least o, as a ``Varint`` |
/// | 1… each | the first o numbers: for number i its difference of order i, zigzag, as a ``Varint`` |
/// | the rest | for each further number its difference of order o, zigzag, Rice coded; zero bits fill the last byte |
///
/// The difference of order 0 is the number itself. The difference of order 1 is the number minus its predecessor, the
/// difference of order 2 is the difference of order 1 minus its predecessor, and so on. A straight line takes about one
/// bit per number at order 2. The magnitude of all numbers is below 2⁵³.
struct SeriesPacker {
    /// The valid numbers of decimals.
    static let decimals = 0...15
    /// The valid orders of differences.
    static let orders = 0...3
    /// The exclusive upper limit of magnitudes.
    static let limit: Int64 = 1 << 53

    /// A buffer that is reused from one series to the next.
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

    /// Returns the order whose differences have the smallest sum of magnitudes.
    private static func order(for numbers: [Int64]) -> Int {
        var last = (Int64(0), Int64(0), Int64(0))
        var sums = SIMD4<Double>()
        for index in numbers.indices {
            let number = numbers[index]
            let first = number - last.0
            let second = first - last.1
            let third = second - last.2
            last = (number, first, second)
            // The first numbers of a series are encoded separately.
            guard index >= orders.upperBound else { continue }
            sums += SIMD4(
                Double(number.magnitude), Double(first.magnitude), Double(second.magnitude), Double(third.magnitude))
        }
        let best = orders.min { sums[$0] < sums[$1] } ?? 0
        return min(best, numbers.count)
    }

    private mutating func computeDifferences(of numbers: [Int64], order: Int) {
        residuals.removeAll(keepingCapacity: true)
        residuals.reserveCapacity(numbers.count)
        var last = (Int64(0), Int64(0), Int64(0))
        for index in numbers.indices {
            let number = numbers[index]
            let first = number - last.0
            let second = first - last.1
            let third = second - last.2
            last = (number, first, second)
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

/// Variable-length unsigned integers: seven bits per byte, least significant first. All bytes except the last have bit 7
/// set.
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
