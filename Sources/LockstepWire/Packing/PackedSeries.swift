/// A series that ``SeriesPacker`` wrote, its head read and held against its length.
struct PackedSeries {
    let count: Int
    let decimals: Int
    private let order: Int
    private let code: RiceCode
    private let buffer: UnsafeRawBufferPointer
    /// Where the numbers begin.
    private let start: Int

    /// - Parameter buffer: has to outlive the series.
    /// - Throws: ``PayloadError`` where the head is none, or promises more than follows.
    init(_ buffer: UnsafeRawBufferPointer) throws(PayloadError) {
        guard buffer.count >= 3 else { throw Self.invalid("it is too short") }
        decimals = Int(buffer[0])
        order = Int(buffer[1] >> 6)
        code = RiceCode(parameter: Int(buffer[1] & 0x3f))
        guard SeriesPacker.decimals.contains(decimals), RiceCode.parameters.contains(code.parameter) else {
            throw Self.invalid("its decimals or its parameter are too many")
        }
        var offset = 2
        guard let count = Varint.read(buffer, at: &offset).flatMap(Int.init(exactly:)), count >= order,
            // Each number has a byte or at least as many bits: no room is made for what can't be there.
            count <= order + (buffer.count - offset) * 8 / (code.parameter + 1)
        else { throw Self.invalid("it has not as many numbers as it says") }
        self.count = count
        self.buffer = buffer
        start = offset
    }

    /// The values: the numbers divided by 10 to the decimals.
    /// - Throws: ``PayloadError`` where the numbers end early, are followed by something, or are too large.
    func values() throws(PayloadError) -> [Double] {
        let divisor = Decimals.powers[decimals]
        return try read { Double($0) / divisor }
    }

    /// The numbers themselves.
    /// - Throws: like ``values()``.
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
        guard isValid else { throw Self.invalid("its numbers are not what its head says, or too large") }
        return elements
    }

    /// Numbers out of their differences.
    private struct Sums {
        private var number: Int64 = 0
        private var first: Int64 = 0
        private var second: Int64 = 0

        /// The next number; nil beyond the limit. What overflows can't but end there, as the sums wrap around at once.
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

    private static func invalid(_ what: String) -> PayloadError { PayloadError("not a packed series: \(what)") }
}
