internal import Dispatch
import Glibc
import LockstepModel
import Synchronization

/// A failed or lost connection to gpsd.
package struct GpsdConnectionError: Error, Hashable {
    /// The reason, such as `Connection refused`.
    package let reason: String

    init(_ reason: String) { self.reason = reason }
    init(errno code: Int32) {
        let advice = code == ECONNREFUSED ? ": start gpsd, or name its machine with gpsd://HOST" : ""
        reason = String(cString: strerror(code)) + advice
    }

    static let cancelled = GpsdConnectionError("cancelled")
}

/// Waits for sockets on its own queue, so that no thread of Swift's cooperative pool blocks.
///
/// ``wake()`` is permanent: afterwards every wait ends at once.
final class GpsdSockets: Sendable {
    /// The reason why a wait ended.
    enum Readiness {
        /// The socket with this index is ready.
        case ready(Int)
        case deadline, woken
    }

    /// Has a signal that is never cleared after ``wake()``.
    private let wakeup: Wakeup
    private let queue = DispatchQueue(label: "lockstep.gpsd")
    private let resolving = Mutex(Resolving())

    private struct Resolving {
        var isWoken = false
        var waiter: CheckedContinuation<Result<[SocketAddress], GpsdConnectionError>, Never>?
    }

    init() throws(GpsdConnectionError) {
        guard let wakeup = Wakeup.make() else { throw GpsdConnectionError(errno: errno) }
        self.wakeup = wakeup
    }

    var isWoken: Bool { resolving.withLock { $0.isWoken } }

    /// Ends all current and future waits.
    func wake() {
        // Set before the signal: a thread that wakes up must find isWoken set.
        let waiter = resolving.withLock { state in
            defer { state.waiter = nil }
            state.isWoken = true
            return state.waiter
        }
        wakeup.signal()
        waiter?.resume(returning: .failure(.cancelled))
    }

    /// Runs `work`, which may block, on the queue.
    func perform<Value: Sendable>(
        _ work: @escaping @Sendable () throws(GpsdConnectionError) -> Value
    ) async throws(GpsdConnectionError) -> Value {
        let result = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(
                    returning: Result<Value, GpsdConnectionError> { () throws(GpsdConnectionError) in try work() })
            }
        }
        return try result.get()
    }

    /// Blocks until one of `sockets` is ready for `events`, `deadline` (µs of the boot clock) has passed, or ``wake()`` is
    /// called.
    func wait(_ sockets: [Int32], for events: Int32, until deadline: Int64?) -> Readiness {
        var files = sockets.map { pollfd(fd: $0, events: Int16(events), revents: 0) }
        if wakeup.poll(&files, until: deadline) { return .woken }
        return files.firstIndex { $0.revents != 0 }.map { .ready($0) } ?? .deadline
    }

    /// Returns the addresses of a host. A lookup can take long and cannot be stopped, but ``wake()`` ends the wait for
    /// it.
    func resolve(_ address: GpsdAddress) async throws(GpsdConnectionError) -> [SocketAddress] {
        let result = await withCheckedContinuation { continuation in
            let isWoken = resolving.withLock { state in
                if !state.isWoken { state.waiter = continuation }
                return state.isWoken
            }
            if isWoken { return continuation.resume(returning: .failure(.cancelled)) }
            DispatchQueue.global().async {
                let found = SocketAddress.lookUp(address)
                let waiter = self.resolving.withLock { state in
                    defer { state.waiter = nil }
                    return state.waiter
                }
                waiter?.resume(returning: found)
            }
        }
        return try result.get()
    }
}
