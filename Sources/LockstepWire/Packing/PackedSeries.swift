/// Decodes a series that ``SeriesPacker`` wrote. The initializer parses the head and checks it against the length.
struct PackedSeries {
    let count: Int
    let decimals: Int
    private let order: Int
    private let code: RiceCode
    private let buffer: UnsafeRawBufferPointer
    /// The offset of the first number.
    private let start: Int

    /// - Parameter buffer: the encoded series; must outlive this value.
    /// - Throws: ``PayloadError`` if the head is invalid or announces more numbers than can follow.
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
        else { throw Self.invalid("fewer numbers than announced") }
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
        guard isValid else { throw Self.invalid("numbers do not match the head or are too large") }
        return elements
    }

    /// Restores numbers from their differences.
    private struct Sums {
        private var number: Int64 = 0
        private var first: Int64 = 0
        private var second: Int64 = 0

        /// Returns the next number, or nil if it exceeds the limit. The sums may wrap around: an overflow always gives a
        /// number beyond the limit.
        @inline(__always)
        mutating func add(_ difference: Int64, order: Int) -> Int64? {
            let last = (number, first)
            switch order {
            case 0: number = difference
            case 1: number &+= difference
            case 2: number &+= first &+ difference
            default: number &+= first &+ second &+ difference
            }
            first = number &- last.0
            second = first &- last.1
            return number.magnitude < SeriesPacker.limit ? number : nil
        }
    }

    private static func invalid(_ reason: String) -> PayloadError { PayloadError("invalid packed series: \(reason)") }
}
