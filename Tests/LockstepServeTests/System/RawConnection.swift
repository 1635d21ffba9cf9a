import Glibc
import LockstepTestSupport

/// A TCP connection to a server, for requests that no client would send.
final class RawConnection {
    private var descriptor: Int32

    init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw ProgramError("no socket: \(String(cString: strerror(errno)))") }
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var timeout = timeval(tv_sec: 30, tv_usec: 0)
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
            Glibc.close(descriptor)
            descriptor = -1
            throw ProgramError("cannot connect: \(String(cString: strerror(errno)))")
        }
    }

    deinit { close() }

    /// Closes the connection.
    func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    func write(_ text: String) { _ = send(descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL)) }

    /// Reads until the server closes the connection, `part` was read, or nothing arrives for 30 s.
    func read(until part: String? = nil) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            bytes += buffer[..<count]
            if let part, String(decoding: bytes.suffix(count + part.utf8.count), as: UTF8.self).contains(part) { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether the server has closed the connection. Discards what it has sent.
    var isClosed: Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var count = 0
        repeat { count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) } while count > 0
        return count == 0 || errno != EAGAIN
    }
}
