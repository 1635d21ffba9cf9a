import Glibc

/// Wakes a loop that waits in ``wait(for:until:)`` from another thread.
///
/// Implemented here without SwiftNIO because the loop also polls the socket of libmosquitto.
public final class Wakeup: Sendable {
    /// The end of the pipe that is readable between a signal and ``clear()``.
    let readEnd: Int32
    private let writeEnd: Int32

    /// Creates a wakeup. Traps if no file descriptor is available.
    public init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "no file descriptor is available for a pipe")
        (readEnd, writeEnd) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    /// Ends the current wait, or the next one if the loop is not waiting. Never blocks.
    public func signal() {
        var byte: UInt8 = 1
        // The write fails only if the pipe is full. In that case a signal is already pending.
        _ = Glibc.write(writeEnd, &byte, 1)
    }

    /// Waits until a signal arrives, `socket` can be read (or written, if `wantsWrite`), or the deadline is reached.
    /// - Returns: whether there is data to read from the socket.
    @discardableResult
    public func wait(for socket: (descriptor: Int32, wantsWrite: Bool)?, until deadline: ContinuousClock.Instant)
        -> Bool
    {
        let remaining = ContinuousClock.now.duration(to: deadline)
        let milliseconds = remaining <= .zero ? 0 : min(remaining / .milliseconds(1) + 1, 60_000)
        var polled = [
            pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0),
            pollfd(
                fd: socket?.descriptor ?? -1,
                events: Int16(POLLIN) | (socket?.wantsWrite == true ? Int16(POLLOUT) : 0), revents: 0),
        ]
        guard poll(&polled, 2, Int32(milliseconds)) > 0 else { return false }
        if polled[0].revents != 0 { clear() }
        return polled[1].revents & ~Int16(POLLOUT) != 0
    }

    /// Discards pending signals.
    func clear() {
        var bytes = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
        while Glibc.read(readEnd, &bytes, MemoryLayout.size(ofValue: bytes)) > 0 {}
    }
}
