import Glibc

/// One reading of the machine's clocks.
public struct Moment: Hashable, Sendable {
    /// Wall time; may be stepped.
    public var wall: Timestamp
    /// µs since boot, suspend included (`CLOCK_BOOTTIME`); never steps.
    public var boot: Int64
    /// µs since boot without suspend (`CLOCK_MONOTONIC`).
    public var awake: Int64

    public init(wall: Timestamp, boot: Int64, awake: Int64) {
        self.wall = wall
        self.boot = boot
        self.awake = awake
    }

    /// The present.
    public static func now() -> Moment {
        Moment(
            wall: Timestamp(microseconds: microseconds(of: CLOCK_REALTIME)), boot: microseconds(of: CLOCK_BOOTTIME),
            awake: microseconds(of: CLOCK_MONOTONIC))
    }

    private static func microseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
