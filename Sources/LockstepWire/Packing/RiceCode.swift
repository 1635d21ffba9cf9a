/// The Rice code of a whole number from 0 on: its part above the lowest `parameter` bits as so many ones and a zero, and
/// those bits (R. F. Rice, *Some Practical Universal Noiseless Coding Techniques*, JPL 79-22, 1979).
///
/// A number whose upper part is ``escape`` or more is written as so many ones, without a zero, and all its 64 bits: a
/// single jump does not spoil the rest.
struct RiceCode {
    static let escape: UInt64 = 16
    /// An upper part and its lower one are read at once, out of 57 bits.
    static let parameters = 0...40

    let parameter: Int

    /// How many bits `number` takes.
    func length(of number: UInt64) -> Int {
        let upper = number >> UInt64(parameter)
        return upper < Self.escape ? Int(upper) + 1 + parameter : Int(Self.escape) + 64
    }

    /// The code that takes the fewest bits for `numbers`, and how many.
    static func best(for numbers: ArraySlice<UInt64>) -> (code: RiceCode, bits: Int) {
        guard !numbers.isEmpty else { return (RiceCode(parameter: 0), 0) }
        // Their mean width, which a few large ones do not spoil as they would a mean, is about the best parameter.
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

/// Whole numbers with a sign as such without: 0, −1, 1, −2, … become 0, 1, 2, 3, …
enum ZigZag {
    static func encode(_ number: Int64) -> UInt64 { UInt64(bitPattern: (number << 1) ^ (number >> 63)) }
    static func decode(_ number: UInt64) -> Int64 { Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1) }
}
