/// Whole numbers that follow each other closely, in few bytes: the differences between them, Rice coded.
///
/// | bytes | what |
/// |---|---|
/// | 1 | the decimals d, 0…15: each number stands for itself divided by 10ᵈ |
/// | 1 | 64 · the order o, 0…3, + the parameter k of the ``RiceCode``, 0…40 |
/// | 1… | how many numbers there are, n, at least o: seven bits a byte, the lowest first, all bytes but the last + 128 |
/// | 1… each | the first o numbers: of number i its difference of order i, zigzag, in the same seven bits a byte |
/// | the rest | of each further number its difference of order o, zigzag, in Rice code; zeros fill the last byte |
///
/// The difference of order 0 of a number is itself; of order 1 what it is more than the one before; of order 2 what
/// that is more than at the one before; and so on. A straight line thus takes about a bit a number at order 2. All
/// numbers are of magnitude below 2⁵³.
struct SeriesPacker {
    static let decimals = 0...15
    static let orders = 0...3
    /// Magnitudes stay below.
    static let limit: Int64 = 1 << 53

    /// Kept from one series to the next, for its room.
    private var residuals: [UInt64] = []

    /// Writes a series as a byte string.
    mutating func pack(_ numbers: [Int64], decimals: Int, into writer: inout CBORWriter) {
        let order = Self.order(for: numbers)
        takeDifferences(of: numbers, order: order)
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

    /// The order whose differences are the smallest on the whole.
    private static func order(for numbers: [Int64]) -> Int {
        var last = (Int64(0), Int64(0), Int64(0))
        var sums = SIMD4<Double>()
        for index in numbers.indices {
            let number = numbers[index]
            let first = number - last.0
            let second = first - last.1
            let third = second - last.2
            last = (number, first, second)
            // The first numbers are written in another way at every order.
            guard index >= orders.upperBound else { continue }
            sums += SIMD4(
                Double(number.magnitude), Double(first.magnitude), Double(second.magnitude), Double(third.magnitude))
        }
        let best = orders.min { sums[$0] < sums[$1] } ?? 0
        return min(best, numbers.count)
    }

    private mutating func takeDifferences(of numbers: [Int64], order: Int) {
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

/// A whole number from 0 on in seven bits a byte, the lowest first.
enum Varint {
    static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Reads one and moves `offset` behind it; nil where none is, or one in more bytes than need be.
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
