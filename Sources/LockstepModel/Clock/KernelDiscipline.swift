import CLinux
import Glibc

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
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return "unknown" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 8)
        return fread(&bytes, 1, 8, file) == 8 ? String(decoding: bytes, as: UTF8.self) : "unknown"
    }
}
