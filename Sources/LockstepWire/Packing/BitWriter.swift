/// Appends bits to a byte array, most significant bit first.
struct BitWriter {
    /// The pending bits that do not fill a word yet, right-aligned.
    private var word: UInt64 = 0
    private var count = 0

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
        let left = word << UInt64(64 - count)
        withUnsafeBytes(of: left.bigEndian) { bytes.append(contentsOf: $0.prefix((count + 7) / 8)) }
        (word, count) = (0, 0)
    }

    @inline(__always)
    private mutating func write(_ value: UInt64, bits: Int, to bytes: inout [UInt8]) {
        let room = 64 - count
        guard bits >= room else {
            word = word << UInt64(bits) | value
            count += bits
            return
        }
        let rest = bits - room
        // A value has at most 57 bits, so no shift is by 64 bits.
        let full = word << UInt64(room) | value >> UInt64(rest)
        withUnsafeBytes(of: full.bigEndian) { bytes.append(contentsOf: $0) }
        word = value & ((UInt64(1) << UInt64(rest)) - 1)
        count = rest
    }
}
