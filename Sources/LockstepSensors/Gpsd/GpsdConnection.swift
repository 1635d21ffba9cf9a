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

    fileprivate let socket: Int32
    private let sockets: GpsdSockets

    /// Begins to connect to `address`.
    fileprivate init(_ address: SocketAddress, sockets: GpsdSockets) throws(GpsdConnectionError) {
        socket = Glibc.socket(address.family, Int32(SOCK_STREAM.rawValue), 0)
        self.sockets = sockets
        guard socket >= 0 else { throw GpsdConnectionError(errno: errno) }
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        guard fcntl(socket, F_SETFL, O_NONBLOCK) == 0 else { throw GpsdConnectionError(errno: errno) }
        // A machine that loses power does not close the connection: send probes after 10 s of silence and close the
        // connection 15 s later.
        setSocketOption(SOL_SOCKET, SO_KEEPALIVE, 1, of: socket)
        setSocketOption(Int32(IPPROTO_TCP), TCP_KEEPIDLE, 10, of: socket)
        setSocketOption(Int32(IPPROTO_TCP), TCP_KEEPINTVL, 5, of: socket)
        setSocketOption(Int32(IPPROTO_TCP), TCP_KEEPCNT, 3, of: socket)
        guard address.withSystemAddress({ connect(socket, $0, $1) }) == 0 || errno == EINPROGRESS else {
            throw GpsdConnectionError(errno: errno)
        }
    }

    /// The error of the attempt to connect, once it has ended; nil after a success.
    fileprivate var connectError: GpsdConnectionError? {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size)
        return code == 0 ? nil : GpsdConnectionError(errno: code)
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
            switch self.sockets.wait([self.socket], for: POLLIN, until: deadline) {
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
}

extension GpsdSockets {
    /// The time limit for connecting, in µs.
    private static let connectTimeout: Int64 = 10_000_000
    /// The time in µs after which the next address is tried, too, if the previous one has not answered (RFC 8305).
    private static let addressDelay: Int64 = 250_000

    /// Connects to the first address of the host that answers.
    /// - Throws: ``GpsdConnectionError`` of the last attempt.
    func connect(to address: GpsdAddress) async throws(GpsdConnectionError) -> GpsdConnection {
        let addresses = SocketAddress.inTurn(try await resolve(address))
        return try await perform { () throws(GpsdConnectionError) in
            try self.connectToFirst(of: addresses, deadline: Moment.now().boot + Self.connectTimeout)
        }
    }

    private func connectToFirst(
        of addresses: [SocketAddress], deadline: Int64
    ) throws(GpsdConnectionError) -> GpsdConnection {
        var failure = GpsdConnectionError("no address")
        var waiting = addresses[...]
        var attempts: [GpsdConnection] = []
        while true {
            if let next = waiting.popFirst() {
                do throws(GpsdConnectionError) { attempts.append(try GpsdConnection(next, sockets: self)) } catch {
                    failure = error
                    continue
                }
            } else if attempts.isEmpty {
                throw failure
            }
            let limit = waiting.isEmpty ? deadline : min(deadline, Moment.now().boot + Self.addressDelay)
            switch wait(attempts.map(\.socket), for: POLLOUT, until: limit) {
            case .woken: throw .cancelled
            case .deadline where Moment.now().boot >= deadline: throw GpsdConnectionError(errno: ETIMEDOUT)
            case .deadline: break
            case .ready(let index):
                guard let error = attempts[index].connectError else { return attempts[index] }
                failure = error
                attempts.remove(at: index)
            }
        }
    }
}

/// Splits a stream of bytes into lines.
struct LineSplitter: Sendable {
    /// The longest line in bytes; longer lines are dropped and counted. A SKY report of 100 satellites has 10,000
    /// bytes.
    static let maxLineLength = 262_144

    /// The number of lines dropped because they were too long.
    private(set) var dropped = 0
    private var buffer: [UInt8] = []
    private var isSkipping = false

    /// Appends received bytes and returns the lines that are now complete, without their line ends. Empty lines are
    /// omitted.
    mutating func append(_ bytes: some Collection<UInt8>) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            if !isSkipping {
                buffer += rest[..<end]
                if buffer.last == UInt8(ascii: "\r") { buffer.removeLast() }
                if !buffer.isEmpty { lines.append(buffer) }
            }
            isSkipping = false
            buffer = []
            rest = rest[rest.index(after: end)...]
        }
        if !isSkipping { buffer += rest }
        if buffer.count > Self.maxLineLength {
            buffer = []
            isSkipping = true
            dropped += 1
        }
        return lines
    }
}
