import Glibc

/// A TCP socket that accepts connections on loopback.
public final class LoopbackListener: Sendable {
    /// The descriptor, to set options of the connections.
    public let descriptor: Int32
    /// The port.
    public let port: UInt16

    /// - Parameter port: the port, or 0 for any.
    public init(port: UInt16 = 0) throws(ProgramError) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, generic, &size) == 0
            }
        }
        self.port = UInt16(bigEndian: address.sin_port)
        guard isListening else { throw ProgramError("port \(port) is in use") }
    }

    /// Waits for a connection and returns its descriptor, or nil after ``close()``.
    public func accept() -> Int32? {
        while true {
            let connection = Glibc.accept(descriptor, nil, nil)
            if connection >= 0 { return connection }
            switch Self.step(after: errno) {
            case .end: return nil
            case .repeat: continue
            case .repeatLater: usleep(10_000)
            }
        }
    }

    /// What follows from an error of accept(2).
    enum Step { case end, `repeat`, repeatLater }

    static func step(after error: Int32) -> Step {
        switch error {
        case EINVAL, EBADF: .end
        case EINTR, ECONNABORTED: .repeat
        // Such as EMFILE: a descriptor may become free.
        default: .repeatLater
        }
    }

    /// Ends ``accept()``, and refuses further connections. The descriptor stays open until nothing uses the listener, so
    /// that it cannot become that of another socket meanwhile.
    public func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    deinit { Glibc.close(descriptor) }
}
