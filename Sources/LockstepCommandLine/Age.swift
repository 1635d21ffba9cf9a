public import LockstepModel

extension Timestamp {
    /// The time in ISO 8601, without fractions of a second: `2026-11-21T09:30:00Z`.
    public var iso8601Seconds: String { description.prefix(19) + "Z" }

    /// The time in ISO 8601, to the millisecond: `2026-11-21T09:30:00.250Z`.
    public var iso8601Milliseconds: String { description.prefix(23) + "Z" }

    /// Returns the time that has passed since this one, in its largest useful unit: `12s`, `3m`, `2h`, `5d`.
    ///
    /// A time in the future has the age `0s`.
    public func age(at now: Timestamp) -> String {
        // Clients can send any time, so the difference may overflow.
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

/// Parses a time: µs since 1970, ISO 8601, `now`, or a duration before now such as `-5m`.
/// - Throws: ``CommandFailure`` if the text has none of these forms.
public func time(_ text: String, now: Timestamp) throws -> Timestamp {
    if text == "now" { return now }
    if text.hasPrefix("-"), let before = try? parseDuration(String(text.dropFirst())) { return now - before }
    guard let time = Timestamp(text) else {
        throw CommandFailure(
            "'\(text)' is not a time: use 2026-11-21T09:30:00Z, µs since 1970, now, or a duration before now such as -5m"
        )
    }
    return time
}
