import Dispatch
import Glibc
import SensorTestSupport

/// Waits until a descriptor is readable, on a thread of its own.
///
/// The wait blocks its thread. Swift's tasks and `DispatchQueue.global()` share one pool with a thread per core, so there a
/// few waits would stop all tasks, including those that the test waits for.
/// - Throws: `FileError` with `reason` if the descriptor is not readable within two minutes.
func awaitInput(of descriptor: Int32, else reason: String) async throws {
    let isThere = await withCheckedContinuation { continuation in
        DispatchQueue(label: "lockstep.await-input").async {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            continuation.resume(returning: poll(&polled, 1, 120_000) == 1)
        }
    }
    guard isThere else { throw FileError(reason: reason) }
}
