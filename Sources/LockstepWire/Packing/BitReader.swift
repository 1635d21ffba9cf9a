/// Takes bits out of bytes, from the highest bit of each byte down.
struct BitReader {
    private let buffer: UnsafeRawBufferPointer
    /// The next bits, at the upper end; below them zeros.
    private var word: UInt64 = 0
    /// How many bits of `word` are there; beyond the end of the bytes, zeros that are not.
    private var count = 0
    private var offset: Int

    /// - Parameter buffer: has to outlive the reader.
    init(_ buffer: UnsafeRawBufferPointer, at offset: Int) {
        self.buffer = buffer
        self.offset = offset
    }

    /// The next number of `code`; nil where the bytes end before it does.
    @inline(__always)
    mutating func next(in code: RiceCode) -> UInt64? {
        if count < 57 { refill() }
        let ones = (~word).leadingZeroBitCount
        guard ones < RiceCode.escape else {
            guard drop(Int(RiceCode.escape)), let upper = take(32), let lower = take(32) else { return nil }
            let number = upper << 32 | lower
            // Else two ways would lead to one number.
            return number >> UInt64(code.parameter) >= RiceCode.escape ? number : nil
        }
        // In two steps: for a parameter of 0 it were a shift by all 64 bits.
        let lower = ((word << UInt64(ones + 1)) >> 1) >> UInt64(63 - code.parameter)
        guard drop(ones + 1 + code.parameter) else { return nil }
        return UInt64(ones) << UInt64(code.parameter) | lower
    }

    /// Whether nothing is left but the zeros that fill the last byte.
    var isFinished: Bool { offset == buffer.count && count < 8 && word == 0 }

    private mutating func take(_ bits: Int) -> UInt64? {
        if count < bits { refill() }
        let value = word >> UInt64(64 - bits)
        return drop(bits) ? value : nil
    }

    @inline(__always)
    private mutating func drop(_ bits: Int) -> Bool {
        guard bits <= count else { return false }
        word <<= UInt64(bits)
        count -= bits
        return true
    }

    /// Brings at least 57 bits in, or all there are.
    @inline(__always)
    private mutating func refill() {
        guard buffer.count - offset >= 8 else { return refillAtEnd() }
        let next = UInt64(bigEndian: buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        let whole = (64 - count) / 8
        // Of what is brought in only whole bytes count; the bits below them must not stay.
        word |= (next >> UInt64(64 - 8 * whole)) << UInt64(64 - 8 * whole - count)
        offset += whole
        count += 8 * whole
    }

    private mutating func refillAtEnd() {
        while count <= 56, offset < buffer.count {
            word |= UInt64(buffer[offset]) << UInt64(56 - count)
            offset += 1
            count += 8
        }
    }
}
