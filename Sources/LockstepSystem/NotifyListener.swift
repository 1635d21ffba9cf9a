import Glibc

/// The socket to which a child reports that it is ready, and its status, see sd_notify(3).
final class NotifyListener: Sendable {
    let descriptor: Int32
    /// The value of the child's variable `NOTIFY_SOCKET`: a name in the abstract namespace that the kernel has chosen.
    let name: String

    init() throws(ProgramError) {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var length = socklen_t(MemoryLayout<sa_family_t>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard bind(descriptor, generic, length) == 0 else { return false }
                length = socklen_t(MemoryLayout<sockaddr_un>.size)
                return getsockname(descriptor, generic, &length) == 0
            }
        }
        let count = Int(length) - MemoryLayout<sa_family_t>.size
        let bytes = withUnsafeBytes(of: address.sun_path) { Array($0.prefix(max(0, count)).dropFirst()) }
        name = "@" + String(decoding: bytes, as: UTF8.self)
        guard isBound else { throw ProgramError("no socket: \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// Returns the lines that have arrived, such as `READY=1`.
    func receive() -> [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var lines: [String] = []
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { return lines }
            lines += String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }
}
