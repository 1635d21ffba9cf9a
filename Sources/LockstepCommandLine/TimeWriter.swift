public import LockstepModel

/// Writes times as ISO 8601 with all microseconds, quickly where they lie in the same second.
public struct TimeWriter {
    /// The second of the last time.
    private var second: Int64?
    /// How a time in that second begins: `2026-11-21T09:30:00.`
    private var beginning: [UInt8] = []

    public init() {}

    /// Adds `2026-11-21T09:30:00.000000Z`.
    public mutating func write(_ time: Timestamp, into output: inout OutputBuffer) {
        var (second, fraction) = time.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        if fraction < 0 {
            second -= 1
            fraction += 1_000_000
        }
        if second != self.second {
            self.second = second
            beginning = Array(time.description.utf8.dropLast(7))
        }
        output.append(beginning)
        output.append(fraction.magnitude, digits: 6)
        output.append(byte: UInt8(ascii: "Z"))
    }
}
