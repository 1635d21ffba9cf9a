/// Appends bits to a byte array, most significant bit first.
struct BitWriter {
    /// The pending bits, right-aligned. They are written when they fill the word.
    private var word: UInt64 = 0
    /// The number of pending bits in `word`.
    private var count = 0

    /// Writes `number` encoded with `code`.
    @inline(__always)
    mutating func write(_ number: UInt64, in code: RiceCode, to bytes: inout [UInt8]) {
        let upper = number >> UInt64(code.parameter)
        if upper < RiceCode.escape {
            // Write the ones, the zero and the lower bits together: at most 56 bits.
            let ones = ((UInt64(1) << upper) - 1) << 1
            let lower = number & ((UInt64(1) << UInt64(code.parameter)) - 1)
            write(ones << UInt64(code.parameter) | lower, bits: Int(upper) + 1 + code.parameter, to: &bytes)
        } else {
            write((UInt64(1) << RiceCode.escape) - 1, bits: Int(RiceCode.escape), to: &bytes)
            write(number >> 32, bits: 32, to: &bytes)
            write(number & 0xffff_ffff, bits: 32, to: &bytes)
        }
    }

    /// Writes the pending bits and fills the last byte with zeros.
    mutating func finish(to bytes: inout [UInt8]) {
        guard count > 0 else { return }
        let leftAligned = word << UInt64(64 - count)
        withUnsafeBytes(of: leftAligned.bigEndian) { bytes.append(contentsOf: $0.prefix((count + 7) / 8)) }
        (word, count) = (0, 0)
    }

    /// Writes the `bits` low bits of `value`. All other bits must be 0.
    @inline(__always)
    private mutating func write(_ value: UInt64, bits: Int, to bytes: inout [UInt8]) {
        let freeBits = 64 - count
        guard bits >= freeBits else {
            word = word << UInt64(bits) | value
            count += bits
            return
        }
        let remainingBits = bits - freeBits
        // A value has at most 57 bits, so no shift is by 64 bits.
        let full = word << UInt64(freeBits) | value >> UInt64(remainingBits)
        withUnsafeBytes(of: full.bigEndian) { bytes.append(contentsOf: $0) }
        word = value & ((UInt64(1) << UInt64(remainingBits)) - 1)
        count = remainingBits
    }
}
