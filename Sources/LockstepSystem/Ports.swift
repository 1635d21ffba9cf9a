import Glibc
import Synchronization

/// Returns a free loopback port for a server that is started afterwards.
///
/// The port is below those that Linux gives to clients, and to servers that do not choose a port: with one of these,
/// another socket might take it first.
/// - Throws: ``ProgramError``.
public func freePort() throws(ProgramError) -> UInt16 {
    for _ in 0..<1000 {
        let port = UInt16.random(in: 10_000..<32_768)
        let isNew = Ports.returned.withLock { $0.insert(port).inserted }
        if isNew, let descriptor = boundSocket(port: port) {
            close(descriptor)
            return port
        }
    }
    throw ProgramError("no free port from 10000 to 32767")
}

/// Returns whether a program listens on a loopback port.
public func canConnect(port: UInt16) -> Bool {
    guard let descriptor = connectedSocket(port: port) else { return false }
    close(descriptor)
    return true
}

private enum Ports {
    /// The ports returned by `freePort`, some of which may not be in use yet.
    static let returned = Mutex<Set<UInt16>>([])
}

/// Returns a socket bound to a loopback port, or nil if the port is in use.
package func boundSocket(port: UInt16) -> Int32? { loopbackSocket(port: port, bind) }

/// Returns a connection to a loopback port, or nil if no program listens.
package func connectedSocket(port: UInt16) -> Int32? { loopbackSocket(port: port, connect) }

private func loopbackSocket(
    port: UInt16, _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
) -> Int32? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    let code = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    if code == 0 { return descriptor }
    close(descriptor)
    return nil
}

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
