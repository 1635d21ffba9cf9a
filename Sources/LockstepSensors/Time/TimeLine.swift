public import LockstepModel

/// The agent's time line: runs on the boot clock and is anchored to wall time.
///
/// Small wall-clock corrections are followed by slewing, at most 1 µs per ms, so that the line strictly increases. A
/// step of the wall clock moves the anchor at once, and the caller starts a new epoch.
public struct TimeLine: Sendable {
    /// The largest difference between wall clock and line that is slewed, in µs; a larger one is a step.
    public static let stepThreshold: Int64 = 500_000
    /// The largest difference that is ignored, in µs. It covers the delay between reading two clocks, and keeps the
    /// intervals between samples even.
    static let deadBand: Int64 = 200
    /// The slew rate in µs per second of boot time (1,000 ppm).
    static let slewPerSecond: Int64 = 1000

    /// The result of a comparison with the wall clock.
    public enum Observation: Sendable, Hashable {
        /// The wall clock was not stepped.
        case steady
        /// The wall clock was stepped, by this many µs.
        case stepped(by: Int64)
    }

    /// The wall time of the line minus boot time, in µs.
    private var offset: Int64
    /// The boot time of the last correction or comparison, in µs.
    private var observedAt: Int64
    private var isSlewing = false

    /// Creates a time line that is anchored at `moment`.
    public init(at moment: Moment) {
        offset = moment.wall.microseconds - moment.boot
        observedAt = moment.boot
    }

    /// Compares the line with the wall clock. Call it about once per second.
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
        // Less than 1 µs: keep observedAt, so that the fractions accumulate until a later call.
        guard room > 0 else { return .steady }
        offset += min(max(error, -room), room)
        observedAt = moment.boot
        // Noise keeps the difference from remaining 0, so the slew ends when it reaches 0 once.
        if abs(error) <= room { isSlewing = false }
        return .steady
    }

    /// Returns the timestamp of a boot time in µs.
    public func timestamp(boot: Int64) -> Timestamp { Timestamp(microseconds: boot + offset) }
}
