import Foundation
import LockstepTestSupport

/// Clocks of a running program that run fast or slow, with a wall clock that is wrong. The test knows the truth.
///
/// It uses a preloaded library that replaces `clock_gettime`. All clocks drift alike, as with a real oscillator.
struct DriftingClock {
    private let library: String
    private let offset: Int64
    private let drift: Int64
    private let start: Int64

    /// Compiles the library.
    /// - Parameters:
    ///   - folder: The folder for the library.
    ///   - offset: The error of the wall clock now, in µs.
    ///   - drift: The error of all frequencies, in parts per billion.
    init(in folder: String, offset: Int64, drift: Int64) async throws {
        library = "\(folder)/drift-\(offset)-\(drift).so"
        self.offset = offset
        self.drift = drift
        start = Self.raw()
        let source = library + ".c"
        try Self.source.write(toFile: source, atomically: true, encoding: .utf8)
        let compiled = try await RunningProgram.run(
            "/usr/bin/env", ["clang", "-shared", "-fPIC", "-O1", "-o", library, source])
        guard compiled.status == 0 else { throw ProgramError(compiled.text) }
    }

    /// The environment in which a program uses these clocks.
    var environment: [String: String] {
        ["LD_PRELOAD": library, "LOCKSTEP_TEST_DRIFT": "\(offset) \(drift) \(start)"]
    }

    /// The program's wall clock minus the machine's, in µs, at a time of the raw clock in ns.
    func truth(at raw: Int64 = Self.raw()) -> Double {
        Double(offset) + Double(raw - start) * Double(drift) / 1e12
    }

    /// The time of the raw clock, in ns.
    static func raw() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_RAW, &time)
        return Int64(time.tv_sec * 1_000_000_000 + time.tv_nsec)
    }

    private static let source = """
        #define _GNU_SOURCE
        #include <stdint.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>

        static long long offset, drift, start;  // µs, parts per billion, ns of the raw clock

        __attribute__((constructor)) static void begin(void) {
            const char *text = getenv("LOCKSTEP_TEST_DRIFT");
            if (text) sscanf(text, "%lld %lld %lld", &offset, &drift, &start);
        }

        int clock_gettime(clockid_t clock, struct timespec *time) {
            int result = syscall(SYS_clock_gettime, clock, time);
            if (result || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID) return result;
            struct timespec now;
            syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &now);
            long long elapsed = now.tv_sec * 1000000000LL + now.tv_nsec - start;
            long long error = (long long)((__int128)elapsed * drift / 1000000000);
            if (clock == CLOCK_REALTIME) error += offset * 1000;
            long long total = time->tv_nsec + error;
            long long seconds = total >= 0 ? total / 1000000000 : -((-total + 999999999) / 1000000000);
            time->tv_sec += seconds;
            time->tv_nsec = total - seconds * 1000000000;
            return 0;
        }

        """
}
