import Glibc

/// A blocking TCP connection to a server on loopback, for requests that no client would send.
public final class RawConnection {
    private var descriptor: Int32

    /// Connects.
    /// - Parameter receiveBuffer: the size of the kernel's buffer of received bytes, or nil for that of the system.
    public init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw ProgramError("no socket: \(String(cString: strerror(errno)))") }
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            let reason = String(cString: strerror(errno))
            close()
            throw ProgramError("cannot connect: \(reason)")
        }
    }

    deinit { close() }

    /// Closes the connection.
    public func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    /// Sends all bytes, unless the server closes the connection.
    public func write(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                send(descriptor, buffer.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Sends a text, unless the server closes the connection.
    public func write(_ text: String) { write(text.utf8) }

    /// Returns the next bytes, or nil if the server has closed the connection or sends nothing for 60 s.
    public func receive() -> ArraySlice<UInt8>? {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? buffer[..<count] : nil
    }

    /// Reads until the server closes the connection, `part` was read, or nothing arrives for 60 s.
    public func read(until part: String? = nil) -> String {
        var bytes: [UInt8] = []
        while let next = receive() {
            bytes += next
            if let part, String(decoding: bytes.suffix(next.count + part.utf8.count), as: UTF8.self).contains(part) {
                break
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether the server has closed the connection. Discards what it has sent.
    public var isClosed: Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var count = 0
        repeat { count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) } while count > 0
        return count == 0 || errno != EAGAIN
    }
}
