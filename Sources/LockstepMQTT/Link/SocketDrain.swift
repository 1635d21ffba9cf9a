import Glibc

/// Discards what arrives on a socket whose connection this side ends.
///
/// If a socket is closed with unread bytes, the kernel resets the connection and discards bytes that were not sent yet.
/// The broker could then miss the DISCONNECT, and publish the will.
final class SocketDrain {
    /// A duplicate, so that the connection stays open when libmosquitto closes the socket.
    let descriptor: Int32

    /// - Returns: nil if no file descriptor is available.
    init?(_ socket: Int32) {
        descriptor = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Discards what has arrived.
    /// - Returns: whether the other side may send more.
    func discard() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
            while true {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count > 0 { continue }
                if count < 0, errno == EINTR { continue }
                return count < 0 && errno == EAGAIN
            }
        }
    }

    /// Ends the connection, and waits until the other side has ended it too, or the deadline is reached.
    func finish(until deadline: ContinuousClock.Instant) {
        shutdown(descriptor, Int32(SHUT_WR))
        while discard(), ContinuousClock.now < deadline {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let remaining = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
            poll(&polled, 1, Int32(max(1, min(remaining, 1000))))
        }
    }
}
