import Glibc

/// The datagram socket that a supervisor receives notifications on, see sd_notify(3).
///
/// Implemented here because libsystemd would be a dependency on every system, only for one call of `sendto`.
final class NotifySocket: Sendable {
    private let descriptor: Int32
    private let address: sockaddr_un
    private let length: socklen_t

    /// Creates a socket, or returns nil if the address is invalid or no file descriptor is available.
    /// - Parameter address: an absolute path, or `@` and a name in the abstract namespace.
    init?(address text: String) {
        let bytes = Array(text.utf8)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard bytes.first == UInt8(ascii: "/") || bytes.first == UInt8(ascii: "@"), bytes.count > 1,
            bytes.count < MemoryLayout.size(ofValue: address.sun_path)
        else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            path.copyBytes(from: bytes)
            // `@` stands for the zero byte at the start of an abstract name.
            if bytes[0] == UInt8(ascii: "@") { path[0] = 0 }
        }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        self.address = address
        // An abstract name has no terminating zero, so its length counts.
        length = socklen_t((MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2) + bytes.count)
    }

    deinit { close(descriptor) }

    /// Sends one datagram without blocking.
    /// - Returns: false if the socket is full, so that sending must be retried; true otherwise, even if there is no
    ///   receiver.
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
