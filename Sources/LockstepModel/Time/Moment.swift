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
    ///
    /// The clocks are read one after the other; where the machine stopped in between, they are read again, or the wall
    /// clock would seem to have been stepped.
    public static func now() -> Moment {
        var moment: Moment
        var tries = 0
        repeat {
            let boot = microseconds(of: CLOCK_BOOTTIME)
            moment = Moment(
                wall: Timestamp(microseconds: microseconds(of: CLOCK_REALTIME)), boot: boot,
                awake: microseconds(of: CLOCK_MONOTONIC))
            tries += 1
            if microseconds(of: CLOCK_BOOTTIME) - boot < 200 { break }
        } while tries < 10
        return moment
    }

    private static func microseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
