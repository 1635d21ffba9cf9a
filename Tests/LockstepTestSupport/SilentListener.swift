import Glibc

/// A listener that accepts nothing, and whose queue is full, so that connections get no answer.
public final class SilentListener {
    private struct SetupError: Error {}

    /// The port.
    public let port: UInt16
    private var descriptors: [Int32]

    public init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        descriptors = [listener]
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let clients = (0..<4).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0) }
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                guard bind(listener, $0, length) == 0, listen(listener, 0) == 0,
                    getsockname(listener, $0, &length) == 0
                else { return false }
                for client in clients { _ = connect(client, $0, length) }
                return true
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        descriptors += clients
        guard isListening else { throw SetupError() }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
