// With optimisation, `timespec` is declared by this module.
import CLinux
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

/// Exponential backoff with jitter: the delay limit doubles from `initial` to `maximum`.
///
/// Each delay is random between half of the limit and the limit, so that the clients of a fleet do not reconnect at the
/// same time. Implemented here because the available packages combine the backoff with their own timers.
public struct Backoff: Sendable {
    /// The limit of the first delay.
    public var initial: Duration
    /// The limit of all delays.
    public var maximum: Duration
    private var failures = 0

    /// Creates a backoff.
    public init(initial: Duration = .milliseconds(500), maximum: Duration = .seconds(30)) {
        self.initial = initial
        self.maximum = maximum
    }

    /// Records a failure and returns the delay before the next attempt.
    public mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        let limit = min(maximum, initial * (1 << min(failures, 20)))
        failures += 1
        return limit * Double.random(in: 0.5...1, using: &generator)
    }

    /// Lowers the limit to at most four times `initial`. Call it when an outage seems to be over.
    public mutating func lower() { failures = min(failures, 2) }

    /// Resets the limit to `initial`. Call it after a success.
    public mutating func reset() { failures = 0 }
}

/// Limits how often something happens: some times at once, and then at a constant rate. Unused time adds up to the former.
package struct Allowance: Sendable {
    /// The limit of an allowance.
    package struct Rate: Hashable, Sendable, CustomStringConvertible {
        /// How often something may happen at once.
        package let burst: Int64
        /// The time until it may happen once more, in µs.
        package let interval: Int64

        package init(burst: Int64, interval: Int64) {
            self.burst = burst
            self.interval = interval
        }

        package var description: String {
            "at most \(burst) at once, and one in \(interval / 1_000_000) s after that"
        }
    }

    /// The time from which nothing is used up, in µs of the boot clock.
    private var restored = Int64.min

    /// Creates an allowance of which nothing is used up.
    package init() {}

    /// Uses up one occurrence.
    /// - Returns: false if there is none left.
    package mutating func take(_ rate: Rate, at boot: Int64) -> Bool {
        let start = max(restored, boot)
        guard start - boot <= (rate.burst - 1) * rate.interval else { return false }
        restored = start + rate.interval
        return true
    }
}
