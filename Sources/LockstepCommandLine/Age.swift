public import LockstepModel

extension Timestamp {
    /// The time in ISO 8601, without fractions of a second: `2026-11-21T09:30:00Z`.
    public var iso8601Seconds: String { iso8601(decimals: 0, offset: nil) }

    /// The time in ISO 8601, to the millisecond: `2026-11-21T09:30:00.250Z`.
    public var iso8601Milliseconds: String { iso8601(decimals: 3, offset: nil) }

    /// Returns the time in ISO 8601 with the offset of a zone, or in UTC.
    /// - Parameters:
    ///   - decimals: the number of decimals of the seconds, from 0 to 6; further ones are cut off.
    ///   - offset: the offset of the zone from UTC in µs, in whole minutes, or nil for UTC.
    public func iso8601(decimals: Int, offset: Int64?) -> String {
        let (shifted, overflow) = microseconds.addingReportingOverflow(offset ?? 0)
        let time = overflow ? self : Timestamp(microseconds: shifted)
        return time.description.dropLast(decimals == 0 ? 8 : 7 - decimals)
            + (overflow ? "Z" : offset.map(DisplayZone.text(ofOffset:)) ?? "Z")
    }

    /// The time in the zone of the command, without fractions of a second: `2026-11-21T09:30:00Z`, or with `--local`
    /// `2026-11-21T10:30:00+01:00`.
    public var shown: String { shown(decimals: 0) }

    /// Returns the time in the zone of the command.
    /// - Parameter decimals: the number of decimals of the seconds, from 0 to 6.
    public func shown(decimals: Int) -> String {
        iso8601(decimals: decimals, offset: DisplayZone.isLocal ? localOffset : nil)
    }

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

/// Parses a time: µs since 1970, ISO 8601, `now`, or a duration before now such as `-5m`. A time without a zone is in that
/// of the command: UTC, or local with `--local`.
/// - Throws: ``CommandFailure`` if the text has none of these forms.
public func time(_ text: String, now: Timestamp) throws -> Timestamp {
    if text == "now" { return now }
    if text.hasPrefix("-"), let before = try? parseDuration(String(text.dropFirst())) { return now - before }
    guard let time = Timestamp(text, offset: { DisplayZone.isLocal ? DisplayZone.localOffset(ofLocal: $0) : 0 }) else {
        throw CommandFailure(
            "'\(text)' is not a time: use 2026-11-21T09:30:00Z or with another zone such as +01:00, µs since 1970, now, or a "
                + "duration before now such as -5m"
        )
    }
    return time
}
