import Dispatch
import Glibc
import SensorTestSupport

/// Waits until a descriptor is readable. Waits on another thread, because the writer may need the current one.
/// - Throws: `FileError` with `reason` if the descriptor is not readable within two minutes.
func awaitInput(of descriptor: Int32, else reason: String) async throws {
    let isThere = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            continuation.resume(returning: poll(&polled, 1, 120_000) == 1)
        }
    }
    guard isThere else { throw FileError(reason: reason) }
}
