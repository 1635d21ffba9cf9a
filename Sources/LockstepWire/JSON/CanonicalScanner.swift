import Glibc

/// Scans JSON in the canonical form that ``JSONObjectWriter`` writes, without white space and escapes.
///
/// Each `scan` method advances past the requested token. It returns nil or false if the next token is a different token
/// or is not in canonical form. A failed scan of a fixed text leaves the position unchanged. After any other failed
/// scan, the position is undefined. The scanner must not outlive the bytes.
struct CanonicalScanner {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Whether all bytes are scanned.
    var isAtEnd: Bool { offset == bytes.count }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    mutating func scan(byte character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    mutating func scan(_ text: StaticString) -> Bool {
        scan(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func scan(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { scan(UnsafeRawBufferPointer($0)) }
    }

    /// Scans the bytes of `text` at `range`.
    mutating func scan(_ text: [UInt8], _ range: Range<Int>) -> Bool {
        text.withUnsafeBytes { scan(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    private mutating func scan(_ text: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress, let other = text.baseAddress, bytes.count - offset >= text.count,
            memcmp(base + offset, other, text.count) == 0
        else { return false }
        offset += text.count
        return true
    }

    /// Scans a string of printable ASCII characters whose opening quote is already scanned, including its closing
    /// quote.
    mutating func scanRestOfString() -> String? {
        var end = offset
        while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
            guard (0x20..<0x7f).contains(bytes[end]), bytes[end] != UInt8(ascii: "\\") else { return nil }
            end += 1
        }
        guard end < bytes.count else { return nil }
        defer { offset = end + 1 }
        return String(decoding: bytes[offset..<end], as: UTF8.self)
    }

    /// Scans a whole number. Returns nil for negative zero and for a number outside the signed 64-bit range.
    mutating func scanWholeNumber() -> Int64? {
        let isNegative = scan(byte: "-")
        guard let digits = scanDigits(), let value = Int64(exactly: digits.value), value > 0 || !isNegative else {
            return nil
        }
        return isNegative ? -value : value
    }

    mutating func scanNumber() -> Double? {
        let begin = offset
        let isNegative = scan(byte: "-")
        guard let whole = scanDigits() else { return nil }
        var value = whole.value
        var decimals = 0
        if scan(byte: ".") {
            guard let fraction = scanDigits(after: value, isFraction: true) else { return nil }
            value = fraction.value
            decimals = fraction.count
        }
        guard next != UInt8(ascii: "e"), value <= 1 << 53, decimals < Self.powersOfTen.count else {
            return scanAnyNumber(from: begin)
        }
        // Both operands are exact doubles, so the quotient is the correctly rounded number (Clinger, How to Read Floating
        // Point Numbers Accurately, 1990).
        let magnitude = Double(value) / Self.powersOfTen[decimals]
        return isNegative ? -magnitude : magnitude
    }

    private static let powersOfTen: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// Scans the digits of a JSON number. Leading zeros are invalid, except in a fraction.
    /// - Parameter start: the value of the digits before the decimal point, to which the digits of a fraction are
    ///   appended.
    /// - Returns: the value, which saturates at `UInt64.max`, and the number of scanned digits.
    private mutating func scanDigits(after start: UInt64 = 0, isFraction: Bool = false) -> (value: UInt64, count: Int)?
    {
        var value = start
        let begin = offset
        while let byte = next, byte >= 0x30, byte <= 0x39 {
            let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(UInt64(byte - 0x30))
            value = overflow || carry ? .max : sum
            offset += 1
        }
        guard offset > begin, isFraction || offset == begin + 1 || bytes[begin] != UInt8(ascii: "0") else { return nil }
        return (value, offset - begin)
    }

    /// Scans the rest of a number that the fast path cannot convert: it has an exponent or too many digits. The number
    /// starts at `begin`, and its digits are already scanned.
    private mutating func scanAnyNumber(from begin: Int) -> Double? {
        if scan(byte: "e") {
            if !scan(byte: "-") { _ = scan(byte: "+") }
            guard scanDigits(isFraction: true) != nil else { return nil }
        }
        // The number must be followed by a comma or bracket: otherwise strtod could read beyond the end of the buffer.
        guard let base = bytes.baseAddress, next == UInt8(ascii: ",") || next == UInt8(ascii: "]") else { return nil }
        let start = (base + begin).assumingMemoryBound(to: CChar.self)
        var end: UnsafeMutablePointer<CChar>?
        let value = strtod(start, &end)
        // A number that underflows to zero is not canonical: the writer would have written zero.
        guard value.isFinite, value != 0, UnsafePointer(end) == start + (offset - begin) else { return nil }
        return value
    }
}
