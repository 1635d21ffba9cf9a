public import LockstepModel

/// The agent's time line: runs on the boot clock and is anchored to wall time.
///
/// A small change of the wall clock is followed by slewing, at most 1 µs a millisecond, so that the line stays steady
/// and strictly increases. A step of the wall clock moves the anchor at once: the caller then opens a new epoch.
public struct TimeLine: Sendable {
    /// µs that the wall clock may differ from the line before it counts as stepped.
    public static let stepThreshold: Int64 = 500_000
    /// µs of difference that are left alone: reading one clock after the other costs some, and steps between samples
    /// stay even.
    static let deadBand: Int64 = 200
    /// µs of slewing for a second of boot time: the rate of 1,000 ppm.
    static let slewPerSecond: Int64 = 1000

    public enum Observation: Sendable, Hashable {
        case steady
        /// The wall clock was stepped by so many µs.
        case stepped(by: Int64)
    }

    /// Wall time less boot time, as the line has it.
    private var offset: Int64
    private var observedAt: Int64
    private var isSlewing = false

    public init(at moment: Moment) {
        offset = moment.wall.microseconds - moment.boot
        observedAt = moment.boot
    }

    /// Compares the line with the wall clock; to be called every second or so.
    public mutating func observe(_ moment: Moment) -> Observation {
        let error = moment.wall.microseconds - moment.boot - offset
        let elapsed = max(0, moment.boot - observedAt)
        guard abs(error) <= Self.stepThreshold else {
            offset += error
            observedAt = moment.boot
            return .stepped(by: error)
        }
        if abs(error) > Self.deadBand { isSlewing = true }
        guard isSlewing else {
            observedAt = moment.boot
            return .steady
        }
        let room = elapsed * Self.slewPerSecond / 1_000_000
        // Less than a microsecond of room is kept for the next call.
        guard room > 0 else { return .steady }
        offset += min(max(error, -room), room)
        observedAt = moment.boot
        // Noise keeps the difference from ever being nothing: arriving once is enough.
        if abs(error) <= room { isSlewing = false }
        return .steady
    }

    /// The timestamp of a boot time in µs.
    public func timestamp(boot: Int64) -> Timestamp { Timestamp(microseconds: boot + offset) }
}
