import Dispatch
import Glibc
import SensorTestSupport

/// Waits until a descriptor is readable, on its own thread, because the writer may need this one.
/// - Throws: `FileError` with the reason where it can't be within two minutes.
func awaitInput(of descriptor: Int32, else reason: String) async throws {
    let isThere = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            continuation.resume(returning: poll(&polled, 1, 120_000) == 1)
        }
    }
    guard isThere else { throw FileError(reason: reason) }
}
