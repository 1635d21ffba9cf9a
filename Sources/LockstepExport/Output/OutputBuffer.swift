public import LockstepModel

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

/// Writes times as ISO 8601 with microseconds. It reuses the text of the previous second.
///
/// Implemented here because Foundation's formatters take longer than all other work for a row.
public struct TimeWriter: Sendable {
    /// Whether times have milliseconds, or none if these are zero, instead of microseconds.
    private let isShort: Bool
    /// Returns a time in ISO 8601 with microseconds and a zone.
    private let text: @Sendable (Timestamp) -> String
    private var second: Int64?
    /// The text up to the fraction of that second, and after it: `2026-11-21T09:30:00.`, `Z`.
    private var (prefix, suffix): ([UInt8], [UInt8]) = ([], [])

    /// Creates a writer.
    /// - Parameters:
    ///   - isShort: whether times are truncated to milliseconds, which are left out if they are zero. Some readers of GPX
    ///     do not read a time with more decimals.
    ///   - text: returns a time in ISO 8601 with microseconds, in another zone than UTC.
    public init(isShort: Bool = false, text: @escaping @Sendable (Timestamp) -> String = { $0.description }) {
        self.isShort = isShort
        self.text = text
    }

    /// Appends the time: `2026-11-21T09:30:00.000000Z`, or in the short form `2026-11-21T09:30:00Z`.
    public mutating func write(_ time: Timestamp, into output: inout OutputBuffer) {
        var (second, fraction) = time.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        if fraction < 0 {
            second -= 1
            fraction += 1_000_000
        }
        if second != self.second {
            self.second = second
            let text = text(time).utf8
            let point = text.lastIndex(of: UInt8(ascii: ".")).map(text.index(after:)) ?? text.endIndex
            prefix = Array(text[..<point])
            suffix = Array(text[point...].dropFirst(6))
        }
        if isShort {
            let milliseconds = fraction.magnitude / 1000
            output.append(milliseconds == 0 ? Array(prefix.dropLast()) : prefix)
            if milliseconds != 0 { output.append(milliseconds, digits: 3) }
        } else {
            output.append(prefix)
            output.append(fraction.magnitude, digits: 6)
        }
        output.append(suffix)
    }
}
