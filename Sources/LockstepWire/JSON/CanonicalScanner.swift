import Glibc

/// Reads JSON in the one form that ``JSONObjectWriter`` gives it: no spaces, no escapes.
///
/// Each `take` moves past what it was asked for. Nil or false says only that it is not there in this form, and where the
/// scanner is then is of no use, but for those of a text, which stay. Used within the call that lends the bytes.
struct CanonicalScanner {
    private let bytes: UnsafeRawBufferPointer
    private var place = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { place == bytes.count }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    mutating func take(byte character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        place += 1
        return true
    }

    mutating func take(_ text: StaticString) -> Bool {
        take(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func take(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { take(UnsafeRawBufferPointer($0)) }
    }

    /// A part of `text`.
    mutating func take(_ text: [UInt8], _ range: Range<Int>) -> Bool {
        text.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    private mutating func take(_ text: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress, let other = text.baseAddress, bytes.count - place >= text.count,
            memcmp(base + place, other, text.count) == 0
        else { return false }
        place += text.count
        return true
    }

    /// What is left of a text of printable ASCII characters, to its closing quote.
    mutating func takeRestOfText() -> String? {
        var end = place
        while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
            guard (0x20..<0x7f).contains(bytes[end]), bytes[end] != UInt8(ascii: "\\") else { return nil }
            end += 1
        }
        guard end < bytes.count else { return nil }
        defer { place = end + 1 }
        return String(decoding: bytes[place..<end], as: UTF8.self)
    }

    mutating func takeWholeNumber() -> Int64? {
        let isNegative = take(byte: "-")
        guard let digits = takeDigits(), let value = Int64(exactly: digits.value), value > 0 || !isNegative else {
            return nil
        }
        return isNegative ? -value : value
    }

    mutating func takeNumber() -> Double? {
        let begin = place
        let isNegative = take(byte: "-")
        guard let whole = takeDigits() else { return nil }
        var value = whole.value
        var decimals = 0
        if take(byte: ".") {
            guard let fraction = takeDigits(after: value, isFraction: true) else { return nil }
            value = fraction.value
            decimals = fraction.count
        }
        guard next != UInt8(ascii: "e"), value <= 1 << 53, decimals < Self.powersOfTen.count else {
            return takeAnyNumber(from: begin)
        }
        // Both are exact as doubles, so the quotient is the number rounded once, which is what is asked for
        // (Clinger, How to Read Floating Point Numbers Accurately, 1990).
        let magnitude = Double(value) / Self.powersOfTen[decimals]
        return isNegative ? -magnitude : magnitude
    }

    private static let powersOfTen: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// Digits as JSON allows them: no zero in front of others, unless after the point. A value too large for 64 bits is
    /// the largest that there is.
    private mutating func takeDigits(after start: UInt64 = 0, isFraction: Bool = false) -> (value: UInt64, count: Int)?
    {
        var value = start
        let begin = place
        while let byte = next, byte >= 0x30, byte <= 0x39 {
            let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(UInt64(byte - 0x30))
            value = overflow || carry ? .max : sum
            place += 1
        }
        guard place > begin, isFraction || place == begin + 1 || bytes[begin] != UInt8(ascii: "0") else { return nil }
        return (value, place - begin)
    }

    /// A number that takes more than a division; `begin` is where it starts, the place is behind its digits.
    private mutating func takeAnyNumber(from begin: Int) -> Double? {
        if take(byte: "e") {
            if !take(byte: "-") { _ = take(byte: "+") }
            guard takeDigits(isFraction: true) != nil else { return nil }
        }
        // These belong to no number: without one strtod would read beyond the end.
        guard let base = bytes.baseAddress, next == UInt8(ascii: ",") || next == UInt8(ascii: "]") else { return nil }
        let start = (base + begin).assumingMemoryBound(to: CChar.self)
        var end: UnsafeMutablePointer<CChar>?
        let value = strtod(start, &end)
        // What is too small for a double is not written as it here, but as zero.
        guard value.isFinite, value != 0, UnsafePointer(end) == start + (place - begin) else { return nil }
        return value
    }
}
