import Foundation

/// Clocks of a running program that a test can set: the wall clock and the boot clock, which continues while the
/// machine sleeps. The monotonic clock is not changed.
///
/// It uses a preloaded library that replaces clock and timer functions. libfaketime is not suitable, because it also
/// shifts the timers of clocks that are not set.
public struct AdjustableClock: Sendable {
    private let folder: String
    private var library: String { folder + "/clock.so" }
    private var file: String { folder + "/clock.offsets" }

    /// Whether a C compiler is installed. Swift toolchains include clang.
    public static var isAvailable: Bool {
        get async { (try? await RunningProgram.run("/usr/bin/env", ["clang", "--version"]))?.status == 0 }
    }

    /// Compiles the library.
    /// - Parameter folder: The folder for the library and its file of offsets.
    public init(in folder: String) async throws {
        self.folder = folder
        try Data(repeating: 0, count: 16).write(to: URL(fileURLWithPath: file))
        let source = folder + "/clock.c"
        try Self.source.write(toFile: source, atomically: true, encoding: .utf8)
        let compiled = try await RunningProgram.run(
            "/usr/bin/env", ["clang", "-shared", "-fPIC", "-O1", "-o", library, source])
        guard compiled.status == 0 else { throw ProgramError(compiled.text) }
    }

    /// The environment in which a program uses these clocks.
    public var environment: [String: String] { ["LD_PRELOAD": library, "LOCKSTEP_TEST_CLOCK": file] }

    /// Sets the offsets from the machine's clocks, in s.
    public func set(wall: Int64, boot: Int64 = 0) throws {
        let bytes = withUnsafeBytes(of: (wall, boot)) { Data($0) }
        // Written in place, because the program has the file mapped.
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.write(contentsOf: bytes)
        try handle.close()
    }

    private static let source = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdint.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <sys/timerfd.h>
        #include <time.h>
        #include <unistd.h>

        static volatile int64_t *offsets;  // seconds: wall, boot
        static clockid_t clock_of[1024];  // of a timer, by its descriptor

        __attribute__((constructor)) static void begin(void) {
            const char *path = getenv("LOCKSTEP_TEST_CLOCK");
            int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            if (file < 0) return;
            void *map = mmap(0, 16, PROT_READ, MAP_SHARED, file, 0);
            if (map != MAP_FAILED) offsets = map;
            close(file);
        }

        static int64_t offset(clockid_t clock) {
            if (!offsets) return 0;
            return clock == CLOCK_REALTIME ? offsets[0] : clock == CLOCK_BOOTTIME ? offsets[1] : 0;
        }

        int clock_gettime(clockid_t clock, struct timespec *time) {
            int result = syscall(SYS_clock_gettime, clock, time);
            if (result == 0) time->tv_sec += offset(clock);
            return result;
        }

        // OpenSSL compares the validity of certificates with this clock.
        time_t time(time_t *result) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (result) *result = now.tv_sec;
            return now.tv_sec;
        }

        int timerfd_create(int clock, int flags) {
            int timer = syscall(SYS_timerfd_create, clock, flags);
            if (timer >= 0 && timer < 1024) clock_of[timer] = clock;
            return timer;
        }

        int timerfd_settime(int timer, int flags, const struct itimerspec *given, struct itimerspec *old) {
            struct itimerspec time = *given;
            if ((flags & TFD_TIMER_ABSTIME) && time.it_value.tv_sec && timer < 1024)
                time.it_value.tv_sec -= offset(clock_of[timer]);
            return syscall(SYS_timerfd_settime, timer, flags, &time, old);
        }

        """
}
