public import ArgumentParser
public import LockstepModel
import Synchronization

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

/// The time zone of the times that a command prints, and of those that it reads without a zone: UTC, or the local zone, which
/// `TZ` sets for the whole process.
public enum DisplayZone {
    private static let local = Atomic(false)

    /// Whether it is the local zone.
    public static var isLocal: Bool {
        get { local.load(ordering: .relaxed) }
        set { local.store(newValue, ordering: .relaxed) }
    }

    /// Returns the offset of the local zone at a local time, which is given as if it were UTC. Of a time that occurs twice when
    /// a clock is set back, the later one is meant; one that is left out is read with the offset before the change.
    public static func localOffset(ofLocal time: Timestamp) -> Int64 {
        let day: Int64 = 86_400_000_000
        let (before, after) = ((time - day).localOffset, (time + day).localOffset)
        return (time - after).localOffset == after ? after : before
    }

    /// Returns an offset as ISO 8601 has it: `+01:00`.
    static func text(ofOffset offset: Int64) -> String {
        let minutes = abs(offset) / 60_000_000
        let (hour, minute) = ("0\(minutes / 60)".suffix(2), "0\(minutes % 60)".suffix(2))
        return "\(offset < 0 ? "-" : "+")\(hour):\(minute)"
    }
}

/// The option `--local` of every command that prints or reads times.
public struct ZoneOptions: ParsableArguments {
    @Flag(help: "Print times in the local time zone, which TZ sets, and read times without a zone so (default: UTC).")
    private var local = false

    /// Creates the option without a value.
    public init() {}

    /// Sets the zone of the process.
    public mutating func validate() { DisplayZone.isLocal = local }
}
