import Foundation
import LockstepTestSupport

/// Clocks of a program that a test sets while the program runs: its wall clock, and its boot clock, which runs on while
/// a machine sleeps. The monotonic clock stays as it is.
///
/// A library that is loaded before all others stands between the program and the kernel. libfaketime would not do: it
/// also moves timers of the clocks that nobody has set.
struct AdjustableClock {
    private let folder: String
    private var library: String { folder + "/clock.so" }
    private var file: String { folder + "/clock.offsets" }

    /// Whether there is a compiler for the library; every Swift brings one.
    static var isAvailable: Bool {
        get async { (try? await RunningProgram.run("/usr/bin/env", ["clang", "--version"]))?.status == 0 }
    }

    /// - Parameter folder: for the library and what it reads.
    init(in folder: String) async throws {
        self.folder = folder
        try Data(repeating: 0, count: 16).write(to: URL(fileURLWithPath: file))
        let source = folder + "/clock.c"
        try Self.source.write(toFile: source, atomically: true, encoding: .utf8)
        let compiled = try await RunningProgram.run(
            "/usr/bin/env", ["clang", "-shared", "-fPIC", "-O1", "-o", library, source])
        guard compiled.status == 0 else { throw ProgramError(compiled.text) }
    }

    /// With this environment a program has these clocks.
    var environment: [String: String] { ["LD_PRELOAD": library, "LOCKSTEP_TEST_CLOCK": file] }

    /// Sets the clocks to so many seconds from those of the machine.
    func set(wall: Int64, boot: Int64 = 0) throws {
        let bytes = withUnsafeBytes(of: (wall, boot)) { Data($0) }
        // In place: the program has it mapped.
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
