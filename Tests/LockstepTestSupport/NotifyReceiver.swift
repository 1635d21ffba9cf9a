import Foundation
import Synchronization

/// A fake supervisor: a datagram socket that collects the notifications of a program.
public final class NotifyReceiver: Sendable {
    /// The value for `NOTIFY_SOCKET`.
    public let address: String
    private let descriptor: Int32
    private let received = Mutex<[String]>([])

    /// - Parameter address: the path of a file that does not exist, or `@` and an abstract name.
    public init(address text: String) throws {
        address = text
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(text.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            path.copyBytes(from: bytes)
            if bytes.first == UInt8(ascii: "@") { path[0] = 0 }
        }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 }
        }
        guard isBound else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw ProgramError("cannot create the socket \(text): \(reason)")
        }
    }

    deinit { close(descriptor) }

    /// All lines received so far, in order.
    public var lines: [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        return received.withLock { lines in
            while true {
                let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                guard count >= 0 else { return lines }
                lines += String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
            }
        }
    }
}
