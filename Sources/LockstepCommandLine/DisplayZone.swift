public import ArgumentParser
public import LockstepModel
import Synchronization

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
