public import LockstepModel

extension Timestamp {
    /// To the second, for people: `2026-11-21T09:30:00Z`.
    public var toTheSecond: String { description.prefix(19) + "Z" }

    /// How long ago this was, in the largest unit: `12s`, `3m`, `2h`, `5d`.
    public func age(at now: Timestamp) -> String {
        // A time that somebody made up may be further away than can be counted.
        let (difference, overflow) = now.microseconds.subtractingReportingOverflow(microseconds)
        let seconds = (overflow ? self < now ? .max : 0 : max(0, difference)) / 1_000_000
        switch seconds {
        case ..<100: return "\(seconds)s"
        case ..<6000: return "\(seconds / 60)m"
        case ..<172_800: return "\(seconds / 3600)h"
        default: return "\(seconds / 86_400)d"
        }
    }
}

/// Reads a time: µs since 1970, ISO 8601, `now`, or a span before now such as `-5m`.
/// - Throws: ``CommandFailure``
public func time(_ text: String, now: Timestamp) throws -> Timestamp {
    if text == "now" { return now }
    if text.hasPrefix("-"), let before = try? span(String(text.dropFirst())) { return now - before }
    guard let time = Timestamp(text) else {
        throw CommandFailure(
            "'\(text)' is no time: write 2026-11-21T09:30:00Z, µs since 1970, now, or a span before now such as -5m")
    }
    return time
}
