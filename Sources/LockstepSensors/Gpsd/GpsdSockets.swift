internal import Dispatch
import Glibc
import LockstepModel
import Synchronization

/// A failed or lost connection to gpsd.
package struct GpsdConnectionError: Error, Hashable {
    /// The reason, such as `Connection refused`.
    package let reason: String

    init(_ reason: String) { self.reason = reason }
    init(errno code: Int32) { reason = String(cString: strerror(code)) }

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

    /// A pipe that stays readable after ``wake()``.
    private let wakeEnd: Int32
    private let waitEnd: Int32
    private let queue = DispatchQueue(label: "lockstep.gpsd")
    private let resolving = Mutex(Resolving())

    private struct Resolving {
        var isWoken = false
        var waiter: CheckedContinuation<Result<[SocketAddress], GpsdConnectionError>, Never>?
    }

    init() throws(GpsdConnectionError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw GpsdConnectionError(errno: errno) }
        (waitEnd, wakeEnd) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        close(waitEnd)
        close(wakeEnd)
    }

    /// Whether ``wake()`` has been called.
    var isWoken: Bool { resolving.withLock { $0.isWoken } }

    /// Ends all current and future waits.
    func wake() {
        // Set before the write to the pipe: a thread that wakes up must find isWoken set.
        let waiter = resolving.withLock { state in
            defer { state.waiter = nil }
            state.isWoken = true
            return state.waiter
        }
        // One byte fits into an empty pipe.
        var byte: UInt8 = 1
        _ = write(wakeEnd, &byte, 1)
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
    func wait(_ sockets: [Int32], for events: Int32, until deadline: Int64?) throws(GpsdConnectionError) -> Readiness {
        while true {
            var polled = [pollfd(fd: waitEnd, events: Int16(POLLIN), revents: 0)]
            polled += sockets.map { pollfd(fd: $0, events: Int16(events), revents: 0) }
            var timeout: Int32 = -1
            if let deadline {
                // Rounded up, so that the deadline has passed when the wait ends.
                timeout = Int32(min(max(0, deadline - Moment.now().boot + 999) / 1000, 3_600_000))
            }
            let count = poll(&polled, nfds_t(polled.count), timeout)
            if count < 0, errno != EINTR { throw GpsdConnectionError(errno: errno) }
            if polled[0].revents != 0 { return .woken }
            if let index = polled.dropFirst().firstIndex(where: { $0.revents != 0 }) { return .ready(index - 1) }
            if let deadline, Moment.now().boot >= deadline { return .deadline }
        }
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
