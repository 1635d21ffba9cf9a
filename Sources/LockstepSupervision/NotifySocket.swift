import Glibc

/// The datagram socket of a supervisor, see sd_notify(3).
final class NotifySocket: Sendable {
    private let descriptor: Int32
    private let address: sockaddr_un
    private let length: socklen_t

    /// - Parameter address: an absolute path, or `@` and a name in the abstract namespace.
    /// - Returns: nil if it is neither, is too long for a socket, or no file descriptor is left.
    init?(address text: String) {
        let bytes = Array(text.utf8)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard bytes.first == UInt8(ascii: "/") || bytes.first == UInt8(ascii: "@"), bytes.count > 1,
            bytes.count < MemoryLayout.size(ofValue: address.sun_path)
        else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            path.copyBytes(from: bytes)
            // The abstract namespace is written with an @, and begins with a zero.
            if bytes[0] == UInt8(ascii: "@") { path[0] = 0 }
        }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        self.address = address
        // The abstract name is as long as it is given, without a zero at its end.
        length = socklen_t((MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2) + bytes.count)
    }

    deinit { close(descriptor) }

    /// Sends one datagram, without waiting for room.
    /// - Returns: false if there is no room now: it is worth another try. True also where nobody listens any more.
    func send(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
                    let sent = sendto(descriptor, bytes.baseAddress, bytes.count, flags, address, length)
                    return sent >= 0 || (errno != EAGAIN && errno != EINTR && errno != ENOBUFS)
                }
            }
        }
    }
}
