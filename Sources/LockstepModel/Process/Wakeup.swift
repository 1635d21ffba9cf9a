package import Glibc
import Synchronization

/// Wakes a thread that waits for files or a deadline, from another thread.
///
/// Implemented here without SwiftNIO because loops also poll the socket of libmosquitto.
public final class Wakeup: Sendable {
    /// The end of the pipe that is readable between a signal and ``clear()``.
    package let descriptor: Int32
    private let writeEnd: Int32
    private let count = Atomic<Int>(0)

    /// Creates a wakeup. Traps if no file descriptor is available.
    public convenience init() {
        guard let ends = Self.pipe() else { preconditionFailure("no file descriptor is available for a pipe") }
        self.init(ends)
    }

    private init(_ ends: (read: Int32, write: Int32)) { (descriptor, writeEnd) = ends }

    /// Creates a wakeup, or returns nil and sets `errno` if no file descriptor is available.
    package static func make() -> Wakeup? { pipe().map { Wakeup($0) } }

    private static func pipe() -> (read: Int32, write: Int32)? {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        return (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(writeEnd)
    }

    /// The number of waits that have ended.
    package var wakeups: Int { count.load(ordering: .relaxed) }

    /// Ends the current wait, or the next one if the thread is not waiting. Never blocks.
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
        let events = Int16(POLLIN) | (socket?.wantsWrite == true ? Int16(POLLOUT) : 0)
        var files = [pollfd(fd: socket?.descriptor ?? -1, events: events, revents: 0)]
        let remaining = min(ContinuousClock.now.duration(to: deadline), .seconds(3600)) / .microseconds(1)
        if poll(&files, until: Moment.now().boot + Int64(max(0, remaining.rounded(.up)))) { clear() }
        return files[0].revents & ~Int16(POLLOUT) != 0
    }

    /// Blocks until one of `files` is ready, a signal arrives or has arrived, or the deadline has passed. The events of the
    /// files are in their `revents` then.
    /// - Parameter deadline: the deadline in µs of the boot clock, or nil for none.
    /// - Returns: whether there is a signal. It ends each wait until ``clear()``.
    package func poll(_ files: inout [pollfd], until deadline: Int64?) -> Bool {
        files.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
        defer { files.removeLast() }
        while true {
            // Rounded up, so that the deadline has passed when the wait ends.
            let timeout = deadline.map { Int32(min(max(0, $0 - Moment.now().boot + 999) / 1000, 3_600_000)) }
            let ready = Glibc.poll(&files, nfds_t(files.count), timeout ?? -1)
            count.add(1, ordering: .relaxed)
            if ready > 0 { return files[files.count - 1].revents != 0 }
            if ready < 0, errno != EINTR { return false }
            if let deadline, Moment.now().boot >= deadline { return false }
        }
    }

    /// Discards pending signals.
    package func clear() {
        var bytes = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
        while Glibc.read(descriptor, &bytes, MemoryLayout.size(ofValue: bytes)) > 0 {}
    }
}
