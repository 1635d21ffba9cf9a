public import LockstepModel

/// Writes times as ISO 8601 with microseconds. It reuses the text of the previous second.
///
/// Implemented here because Foundation's formatters take longer than all other work for a row.
public struct TimeWriter: Sendable {
    /// Whether times have milliseconds, or none if these are zero, instead of microseconds.
    private let isShort: Bool
    /// The second of the previous time.
    private var second: Int64?
    /// The text up to the fraction of that second: `2026-11-21T09:30:00.`
    private var prefix: [UInt8] = []

    /// Creates a writer.
    /// - Parameter isShort: whether times are truncated to milliseconds, which are left out if they are zero. Some readers
    ///   of GPX do not read a time with more decimals.
    public init(isShort: Bool = false) { self.isShort = isShort }

    /// Appends the time: `2026-11-21T09:30:00.000000Z`, or in the short form `2026-11-21T09:30:00Z`.
    public mutating func write(_ time: Timestamp, into output: inout OutputBuffer) {
        var (second, fraction) = time.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        if fraction < 0 {
            second -= 1
            fraction += 1_000_000
        }
        if second != self.second {
            self.second = second
            prefix = Array(time.description.utf8.dropLast(7))
        }
        if isShort {
            let milliseconds = fraction.magnitude / 1000
            output.append(milliseconds == 0 ? Array(prefix.dropLast()) : prefix)
            if milliseconds != 0 { output.append(milliseconds, digits: 3) }
        } else {
            output.append(prefix)
            output.append(fraction.magnitude, digits: 6)
        }
        output.append(byte: UInt8(ascii: "Z"))
    }
}
