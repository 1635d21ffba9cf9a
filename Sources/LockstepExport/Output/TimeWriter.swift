public import LockstepModel

/// Writes times as ISO 8601 with microseconds. It reuses the text of the previous second.
///
/// Implemented here because Foundation's formatters take longer than all other work for a row.
public struct TimeWriter: Sendable {
    /// The second of the previous time.
    private var second: Int64?
    /// The text up to the fraction of that second: `2026-11-21T09:30:00.`
    private var prefix: [UInt8] = []

    /// Creates a writer.
    public init() {}

    /// Appends the time: `2026-11-21T09:30:00.000000Z`.
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
        output.append(prefix)
        output.append(fraction.magnitude, digits: 6)
        output.append(byte: UInt8(ascii: "Z"))
    }
}
