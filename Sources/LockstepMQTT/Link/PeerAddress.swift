import Glibc

/// The address of a connected socket's peer.
struct PeerAddress {
    private var storage = sockaddr_storage()
    private var length = socklen_t(MemoryLayout<sockaddr_storage>.size)

    /// Reads the peer's address; returns nil if the socket is not connected.
    init?(of descriptor: Int32) {
        let status = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
        }
        guard status == 0 else { return nil }
    }

    /// Returns whether a server accepts a TCP connection at this address in time, and keeps it open. A proxy or a
    /// terminating process may accept a connection and close it at once.
    /// - Parameters:
    ///   - limit: the maximum time to connect.
    ///   - milliseconds: the time for which the connection must stay open.
    func isListening(within limit: Duration = .milliseconds(250), openFor milliseconds: Int32 = 50) -> Bool {
        let descriptor = socket(
            Int32(storage.ss_family), Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let status = withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) }
        }
        if status != 0 {
            guard errno == EINPROGRESS, poll(descriptor, POLLOUT, milliseconds: Int32(limit / .milliseconds(1))) else {
                return false
            }
            var error: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0, error == 0 else { return false }
        }
        return !poll(descriptor, POLLIN, milliseconds: milliseconds)
    }

    /// Returns whether one of the events, an error or the end of the connection occurs within the time.
    private func poll(_ descriptor: Int32, _ events: Int32, milliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return Glibc.poll(&request, 1, milliseconds) > 0
    }
}
