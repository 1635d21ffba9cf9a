import Glibc

/// Readings of the machine's clocks at the same moment.
public struct Moment: Hashable, Sendable {
    /// The wall-clock time (`CLOCK_REALTIME`). It steps when the clock is set.
    public var wall: Timestamp
    /// The time since boot in µs, including suspend (`CLOCK_BOOTTIME`). It never steps.
    public var boot: Int64
    /// The time since boot in µs, excluding suspend (`CLOCK_MONOTONIC`).
    public var awake: Int64

    /// Creates a moment from clock readings.
    public init(wall: Timestamp, boot: Int64, awake: Int64) {
        self.wall = wall
        self.boot = boot
        self.awake = awake
    }

    /// Returns the current readings of the clocks.
    ///
    /// The clocks are read one after the other. If this takes 200 µs or more, because the process was interrupted, they
    /// are read again, up to ten times. Otherwise the wall clock would appear to have stepped.
    public static func now() -> Moment {
        var moment: Moment
        var attempts = 0
        repeat {
            let boot = microseconds(of: CLOCK_BOOTTIME)
            moment = Moment(
                wall: Timestamp(microseconds: microseconds(of: CLOCK_REALTIME)), boot: boot,
                awake: microseconds(of: CLOCK_MONOTONIC))
            attempts += 1
            if microseconds(of: CLOCK_BOOTTIME) - boot < 200 { break }
        } while attempts < 10
        return moment
    }

    private static func microseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
