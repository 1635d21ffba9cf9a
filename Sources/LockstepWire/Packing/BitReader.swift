/// Reads bits from a byte buffer, most significant bit first.
struct BitReader {
    private let buffer: UnsafeRawBufferPointer
    /// The next bits, left-aligned and followed by zeros.
    private var word: UInt64 = 0
    /// The number of valid bits in `word`.
    private var count = 0
    /// The offset of the next byte to load into `word`.
    private var offset: Int

    /// - Parameter buffer: the bytes to read; must outlive the reader.
    init(_ buffer: UnsafeRawBufferPointer, at offset: Int) {
        self.buffer = buffer
        self.offset = offset
    }

    /// Reads the next number, which is encoded with `code`. Returns nil if the number is truncated or not in the
    /// shortest form.
    @inline(__always)
    mutating func next(in code: RiceCode) -> UInt64? {
        if count < 57 { refill() }
        let ones = (~word).leadingZeroBitCount
        guard ones < RiceCode.escape else {
            guard drop(Int(RiceCode.escape)), let upper = read(32), let lower = read(32) else { return nil }
            let number = upper << 32 | lower
            // Each number has exactly one encoding: reject an escaped number that fits the regular code.
            return number >> UInt64(code.parameter) >= RiceCode.escape ? number : nil
        }
        // Shift in two steps: with a parameter of 0, a single step would shift by 64 bits.
        let lower = ((word << UInt64(ones + 1)) >> 1) >> UInt64(63 - code.parameter)
        guard drop(ones + 1 + code.parameter) else { return nil }
        return UInt64(ones) << UInt64(code.parameter) | lower
    }

    /// Whether all bits are read, apart from zero bits that fill the last byte.
    var isFinished: Bool { offset == buffer.count && count < 8 && word == 0 }

    /// Reads an unsigned integer of `bits` bits. Returns nil if fewer bits are left.
    private mutating func read(_ bits: Int) -> UInt64? {
        if count < bits { refill() }
        let value = word >> UInt64(64 - bits)
        return drop(bits) ? value : nil
    }

    /// Discards `bits` bits of `word`. Returns false if `word` has fewer valid bits.
    @inline(__always)
    private mutating func drop(_ bits: Int) -> Bool {
        guard bits <= count else { return false }
        word <<= UInt64(bits)
        count -= bits
        return true
    }

    /// Loads bytes until `word` has at least 57 bits or the buffer is exhausted.
    @inline(__always)
    private mutating func refill() {
        guard buffer.count - offset >= 8 else { return refillAtEnd() }
        let next = UInt64(bigEndian: buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        let wholeBytes = (64 - count) / 8
        // Clear the bits of the partially loaded byte: only whole bytes are consumed.
        word |= (next >> UInt64(64 - 8 * wholeBytes)) << UInt64(64 - 8 * wholeBytes - count)
        offset += wholeBytes
        count += 8 * wholeBytes
    }

    /// Loads single bytes: fewer than eight are left, so a 64-bit load would read beyond the end.
    private mutating func refillAtEnd() {
        while count <= 56, offset < buffer.count {
            word |= UInt64(buffer[offset]) << UInt64(56 - count)
            offset += 1
            count += 8
        }
    }
}
