import CLinux
import Glibc

/// Readings of the machine's clocks at the same moment, for comparing machines.
public struct ClockReading: Hashable, Sendable {
    /// The time of `CLOCK_MONOTONIC_RAW` in µs: the bare oscillator, which no daemon steps or slews.
    public var raw: Int64
    /// The time of `CLOCK_BOOTTIME` in µs, which includes suspend.
    public var boot: Int64
    /// The time of `CLOCK_MONOTONIC` in µs, which excludes suspend.
    public var awake: Int64
    /// The time of `CLOCK_REALTIME`, in µs since 1970.
    public var wall: Int64
    /// The largest error of one reading against another, in µs.
    public var spread: Int64

    /// Creates a reading.
    public init(raw: Int64, boot: Int64, awake: Int64, wall: Int64, spread: Int64 = 1) {
        self.raw = raw
        self.boot = boot
        self.awake = awake
        self.wall = wall
        self.spread = spread
    }

    /// Reads the clocks.
    ///
    /// They are read one after the other, between two readings of the raw clock. If that takes 5 µs or more, because the
    /// process was interrupted, they are read again, up to ten times.
    public static func now() -> ClockReading {
        var best: ClockReading?
        for _ in 0..<10 {
            let before = nanoseconds(CLOCK_MONOTONIC_RAW)
            let wall = nanoseconds(CLOCK_REALTIME)
            let boot = nanoseconds(CLOCK_BOOTTIME)
            let awake = nanoseconds(CLOCK_MONOTONIC)
            let after = nanoseconds(CLOCK_MONOTONIC_RAW)
            let reading = ClockReading(
                raw: (before + (after - before) / 2) / 1000, boot: boot / 1000, awake: awake / 1000, wall: wall / 1000,
                spread: (after - before) / 2000 + 1)
            if best.map({ reading.spread < $0.spread }) ?? true { best = reading }
            if after - before < 5000 { break }
        }
        // The loop runs at least once.
        return best ?? ClockReading(raw: 0, boot: 0, awake: 0, wall: 0)
    }

    /// Returns the time of the raw clock in µs.
    public static func raw() -> Int64 { nanoseconds(CLOCK_MONOTONIC_RAW) / 1000 }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// What the kernel knows of the discipline of the wall clock by NTP or PTP.
public struct KernelDiscipline: Hashable, Sendable {
    /// Whether a daemon such as chronyd, ntpd, ptp4l with phc2sys, or systemd-timesyncd disciplines the clock.
    public var isSynchronised: Bool
    /// The largest error of the wall clock in µs, as the daemon states it. The kernel lets it grow with time.
    public var maxError: Int64

    /// Creates a state.
    public init(isSynchronised: Bool, maxError: Int64) {
        self.isSynchronised = isSynchronised
        self.maxError = maxError
    }

    /// Reads the state with `adjtimex`, which needs no rights, or returns nil if the kernel refuses.
    public static func now() -> KernelDiscipline? {
        var state = timex()
        let result = adjtimex(&state)
        guard result >= 0 else { return nil }
        // systemd-timesyncd and phc2sys state no error (both 0, or an estimate above the maximum), although the clock has
        // one. Their clocks count as not disciplined.
        let statesError = state.esterror > 0 && state.esterror <= state.maxerror
        return KernelDiscipline(
            isSynchronised: statesError && result != TIME_ERROR && state.status & STA_UNSYNC == 0,
            maxError: Int64(state.maxerror))
    }
}

/// The identity of the machine's boot.
public enum BootIdentity {
    /// The first 8 digits of the kernel's boot id, or `unknown`.
    public static func current() -> String {
        KernelFile.firstLine("/proc/sys/kernel/random/boot_id").map { String($0.prefix(8)) } ?? "unknown"
    }
}
