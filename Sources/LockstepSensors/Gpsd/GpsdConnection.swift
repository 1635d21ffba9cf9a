import Glibc
import LockstepModel

/// A TCP connection to gpsd. The socket is closed when the object is deallocated.
final class GpsdConnection: Sendable {
    /// The result of waiting for bytes.
    enum Received: Sendable {
        case bytes([UInt8])
        /// The deadline has passed without bytes.
        case deadline
        /// gpsd closed the connection, or the wait was ended by ``GpsdSockets/wake()``.
        case closed
    }

    private let socket: Int32
    private let sockets: GpsdSockets

    /// Connects to `address`. Blocks until `deadline` at the latest, in µs of the boot clock.
    fileprivate init(_ address: SocketAddress, deadline: Int64, sockets: GpsdSockets) throws(GpsdConnectionError) {
        socket = Glibc.socket(address.family, Int32(SOCK_STREAM.rawValue), 0)
        self.sockets = sockets
        guard socket >= 0 else { throw GpsdConnectionError(errno: errno) }
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        guard fcntl(socket, F_SETFL, O_NONBLOCK) == 0 else { throw GpsdConnectionError(errno: errno) }
        // A machine that loses power does not close the connection: send probes after 10 s of silence and close the
        // connection 15 s later.
        set(SOL_SOCKET, SO_KEEPALIVE, 1)
        set(Int32(IPPROTO_TCP), TCP_KEEPIDLE, 10)
        set(Int32(IPPROTO_TCP), TCP_KEEPINTVL, 5)
        set(Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)

        if address.withSystemAddress({ connect(socket, $0, $1) }) == 0 { return }
        guard errno == EINPROGRESS else { throw GpsdConnectionError(errno: errno) }
        switch try sockets.wait(socket, for: POLLOUT, until: deadline) {
        case .woken: throw .cancelled
        case .deadline: throw GpsdConnectionError(errno: ETIMEDOUT)
        case .ready:
            var code: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size)
            guard code == 0 else { throw GpsdConnectionError(errno: code) }
        }
    }

    deinit { if socket >= 0 { close(socket) } }

    /// Sends a short text, which must fit into the send buffer.
    func send(_ text: String) async throws(GpsdConnectionError) {
        try await sockets.perform { () throws(GpsdConnectionError) in
            let bytes = Array(text.utf8)
            let count = Glibc.send(self.socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            if count < 0 { throw GpsdConnectionError(errno: errno) }
            // Never with a short text: the send buffer of a new connection holds kilobytes.
            if count < bytes.count { throw GpsdConnectionError("the request was sent only partly") }
        }
    }

    /// Waits for bytes until `deadline`, in µs of the boot clock.
    func receive(until deadline: Int64?) async throws(GpsdConnectionError) -> Received {
        try await sockets.perform { () throws(GpsdConnectionError) in
            switch try self.sockets.wait(self.socket, for: POLLIN, until: deadline) {
            case .woken: return .closed
            case .deadline: return .deadline
            case .ready: return try self.read()
            }
        }
    }

    private func read() throws(GpsdConnectionError) -> Received {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, filled in
            repeat { count = recv(socket, buffer.baseAddress, buffer.count, 0) } while count < 0 && errno == EINTR
            filled = max(0, count)
        }
        // A packet with a wrong checksum makes the socket readable without bytes. It is not the end of the stream.
        if count < 0, errno == EAGAIN { return .bytes([]) }
        if count < 0 { throw GpsdConnectionError(errno: errno) }
        return count == 0 ? .closed : .bytes(bytes)
    }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        // Ignore errors: the connection also works without the option.
        _ = withUnsafePointer(to: value) {
            setsockopt(socket, level, option, $0, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}

extension GpsdSockets {
    /// The time limit for connecting to one address, in µs.
    private static let connectTimeout: Int64 = 10_000_000

    /// Connects to the first address of the host that answers.
    /// - Throws: ``GpsdConnectionError`` of the last attempt.
    func connect(to address: GpsdAddress) async throws(GpsdConnectionError) -> GpsdConnection {
        var failure = GpsdConnectionError("no address")
        for socketAddress in try await resolve(address) {
            do {
                return try await perform { () throws(GpsdConnectionError) in
                    try GpsdConnection(
                        socketAddress, deadline: Moment.now().boot + Self.connectTimeout, sockets: self)
                }
            } catch {
                failure = error
            }
        }
        throw failure
    }
}
