import Glibc
import LockstepModel

/// Returns the current time in ISO 8601, to the millisecond.
func wallClockTime() -> String {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    return Timestamp(microseconds: microseconds).iso8601Milliseconds
}
