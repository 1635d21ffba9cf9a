/// Collects the bytes of an output, which its owner writes in large pieces.
///
/// Numbers are converted directly to bytes: an export writes millions of them, and creating a `String` for each would
/// cost more than the rest of a row.
public struct OutputBuffer: Sendable {
    /// The bytes that are not yet written.
    public private(set) var bytes: [UInt8] = []

    /// Creates an empty buffer.
    public init() { bytes.reserveCapacity(Self.limit + 4096) }

    private static let limit = 65_536

    /// Appends a text in UTF-8.
    public mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }
    /// Appends bytes.
    public mutating func append(_ more: [UInt8]) { bytes.append(contentsOf: more) }
    /// Appends one byte.
    public mutating func append(byte: UInt8) { bytes.append(byte) }

    /// Appends a whole number in decimal.
    public mutating func append(_ number: Int64) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        var digits = 1
        var rest = number.magnitude
        while rest >= 10 {
            rest /= 10
            digits += 1
        }
        append(number.magnitude, digits: digits)
    }

    /// Appends the last `digits` digits of a number, with leading zeros.
    public mutating func append(_ number: UInt64, digits: Int) {
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: digits))
        var rest = number
        for index in stride(from: start + digits - 1, through: start, by: -1) {
            bytes[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    /// Appends `count` spaces.
    public mutating func append(spaces count: Int) {
        if count > 0 { bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: count)) }
    }

    /// Whether the buffer is large enough to be written.
    public var isFull: Bool { bytes.count >= Self.limit }

    /// Removes all bytes, after they were written.
    public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }
}
