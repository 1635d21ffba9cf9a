import Dispatch
import Glibc
import SensorTestSupport

/// Waits until a descriptor is readable, on a thread of its own.
///
/// The wait blocks its thread. Swift's tasks and `DispatchQueue.global()` share one pool with a thread per core, so
/// there a few waits would stop all tasks, including those that the test waits for. For the same reason the deadline
/// consists of short waits, with a turn of the pool between them: while long computations of other tests occupy the
/// pool, the tasks that the test waits for cannot run, and that time does not count.
/// - Throws: `FileError` with `reason` if the descriptor is not readable within two minutes.
func awaitInput(of descriptor: Int32, else reason: String) async throws {
    for _ in 1...24 {
        let isThere = await withCheckedContinuation { continuation in
            DispatchQueue(label: "lockstep.await-input").async {
                var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                continuation.resume(returning: poll(&polled, 1, 5_000) == 1)
            }
        }
        if isThere { return }
    }
    throw FileError(reason: reason)
}
