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
