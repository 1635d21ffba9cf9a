/// A Rice code for unsigned integers (R. F. Rice, *Some Practical Universal Noiseless Coding Techniques*, JPL 79-22,
/// 1979).
///
/// The code splits a number at bit `parameter`. The upper part is written in unary (that many ones and a zero), followed
/// by the `parameter` lower bits. If the upper part is ``escape`` or more, the code is ``escape`` ones without a zero,
/// followed by all 64 bits of the number. A single outlier therefore costs at most 80 bits.
struct RiceCode {
    /// The number of ones that starts the code of an escaped number.
    static let escape: UInt64 = 16
    /// The valid parameters. The upper limit exists because ``BitReader`` reads both parts of a number at once and has
    /// only 57 bits available.
    static let parameters = 0...40

    /// The number of lower bits that are written verbatim.
    let parameter: Int

    /// Returns the length of the code of `number`, in bits.
    func length(of number: UInt64) -> Int {
        let upper = number >> UInt64(parameter)
        return upper < Self.escape ? Int(upper) + 1 + parameter : Int(Self.escape) + 64
    }

    /// Returns a code for `numbers` whose total length is minimal or close to minimal, and that length in bits.
    static func best(for numbers: ArraySlice<UInt64>) -> (code: RiceCode, bits: Int) {
        guard !numbers.isEmpty else { return (RiceCode(parameter: 0), 0) }
        // The best parameter is close to the mean bit width, which is less sensitive to outliers than the mean value.
        let width = numbers.reduce(0) { $0 + 64 - $1.leadingZeroBitCount } / numbers.count
        var best = (code: RiceCode(parameter: 0), bits: Int.max)
        for parameter in max(0, width - 2)...(width + 1) {
            let code = RiceCode(parameter: min(parameter, parameters.upperBound))
            let bits = numbers.reduce(0) { $0 + code.length(of: $1) }
            if bits < best.bits { best = (code, bits) }
        }
        return best
    }
}

/// The zigzag mapping of signed to unsigned integers: 0, −1, 1, −2, … become 0, 1, 2, 3, …
enum ZigZag {
    static func encode(_ number: Int64) -> UInt64 { UInt64(bitPattern: (number << 1) ^ (number >> 63)) }
    static func decode(_ number: UInt64) -> Int64 { Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1) }
}
