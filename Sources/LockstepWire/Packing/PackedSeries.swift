/// A decoder for a series that ``SeriesPacker`` wrote. The initializer parses the head and checks it against the
/// length.
struct PackedSeries {
    /// The number of values.
    let count: Int
    /// The number of decimals of the values.
    let decimals: Int
    /// The order of the differences.
    private let order: Int
    private let code: RiceCode
    private let buffer: UnsafeRawBufferPointer
    /// The offset of the first encoded difference.
    private let start: Int

    /// - Parameter buffer: the encoded series; must outlive this value.
    /// - Throws: ``PayloadError`` if the head is invalid or declares more numbers than the remaining bytes can hold.
    init(_ buffer: UnsafeRawBufferPointer) throws(PayloadError) {
        guard buffer.count >= 3 else { throw Self.invalid("too short") }
        decimals = Int(buffer[0])
        order = Int(buffer[1] >> 6)
        code = RiceCode(parameter: Int(buffer[1] & 0x3f))
        guard SeriesPacker.decimals.contains(decimals), RiceCode.parameters.contains(code.parameter) else {
            throw Self.invalid("decimals or parameter out of range")
        }
        var offset = 2
        guard let count = Varint.read(buffer, at: &offset).flatMap(Int.init(exactly:)), count >= order,
            // A Rice-coded number has at least `parameter + 1` bits. Check before allocating memory for `count` numbers.
            count <= order + (buffer.count - offset) * 8 / (code.parameter + 1)
        else { throw Self.invalid("fewer numbers than declared") }
        self.count = count
        self.buffer = buffer
        start = offset
    }

    /// Returns the values: the numbers divided by 10 to the power of ``decimals``.
    /// - Throws: ``PayloadError`` if the numbers end early, are followed by other bytes, or are too large.
    func values() throws(PayloadError) -> [Double] {
        let divisor = Decimals.powers[decimals]
        return try read { Double($0) / divisor }
    }

    /// Returns the integers, without applying ``decimals``.
    /// - Throws: ``PayloadError``, see ``values()``.
    func numbers() throws(PayloadError) -> [Int64] { try read { $0 } }

    /// Decodes all numbers and converts each of them with `element`.
    @inline(__always)
    private func read<Element>(_ element: (Int64) -> Element) throws(PayloadError) -> [Element] {
        var isValid = true
        let elements = [Element](unsafeUninitializedCapacity: count) { elements, initialized in
            var offset = start
            var sums = Sums()
            func append(_ residual: UInt64?) -> Bool {
                guard let residual, let number = sums.add(ZigZag.decode(residual), order: min(order, initialized))
                else { return false }
                elements.initializeElement(at: initialized, to: element(number))
                initialized += 1
                return true
            }
            while initialized < min(order, count) {
                guard append(Varint.read(buffer, at: &offset)) else {
                    isValid = false
                    return
                }
            }
            var bits = BitReader(buffer, at: offset)
            while initialized < count {
                guard append(bits.next(in: code)) else {
                    isValid = false
                    return
                }
            }
            isValid = bits.isFinished
        }
        guard isValid else {
            throw Self.invalid("the number of bytes does not match the head, or a number is too large")
        }
        return elements
    }

    /// Computes numbers from their differences.
    private struct Sums {
        /// The previous number.
        private var number: Int64 = 0
        /// The first-order difference of the previous number.
        private var first: Int64 = 0
        /// The second-order difference of the previous number.
        private var second: Int64 = 0

        /// Returns the next number, or nil if its magnitude reaches the limit. Sums may overflow and wrap around, but
        /// the result is then always beyond the limit.
        @inline(__always)
        mutating func add(_ difference: Int64, order: Int) -> Int64? {
            let previous = (number, first)
            switch order {
            case 0: number = difference
            case 1: number &+= difference
            case 2: number &+= first &+ difference
            default: number &+= first &+ second &+ difference
            }
            first = number &- previous.0
            second = first &- previous.1
            return number.magnitude < SeriesPacker.limit ? number : nil
        }
    }

    private static func invalid(_ reason: String) -> PayloadError { PayloadError("invalid packed series: \(reason)") }
}
