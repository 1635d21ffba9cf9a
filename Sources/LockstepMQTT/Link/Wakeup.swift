import Glibc

/// Wakes a loop that waits in ``Wakeup/wait(for:until:)`` from another thread.
public final class Wakeup: Sendable {
    /// Can be read after a signal, until ``clear()``.
    let readEnd: Int32
    private let writeEnd: Int32

    public init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "no file descriptor is left for a pipe")
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

    public func signal() {
        var byte: UInt8 = 1
        // Fails only when the pipe is full, and then the loop is awake already.
        _ = Glibc.write(writeEnd, &byte, 1)
    }

    /// Waits until a signal, until `socket` can be read (or written, if asked), or until the deadline.
    /// - Returns: whether there is something to read from the socket.
    @discardableResult
    public func wait(for socket: (descriptor: Int32, wantsWrite: Bool)?, until deadline: ContinuousClock.Instant)
        -> Bool
    {
        let left = ContinuousClock.now.duration(to: deadline)
        let milliseconds = left <= .zero ? 0 : min(left / .milliseconds(1) + 1, 60_000)
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

    /// Takes the signals that have come.
    func clear() {
        var bytes = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
        while Glibc.read(readEnd, &bytes, MemoryLayout.size(ofValue: bytes)) > 0 {}
    }
}
