import Foundation
import Synchronization

/// Returns a free loopback port for a server that is started afterwards.
///
/// The port is below those that Linux gives to clients, and to servers that do not choose a port: with one of these,
/// another socket might take it first.
public func freePort() throws -> UInt16 {
    for _ in 0..<1000 {
        let port = UInt16.random(in: 10_000..<32_768)
        let isNew = returnedPorts.withLock { $0.insert(port).inserted }
        if isNew, let descriptor = bindSocket(port: port) {
            close(descriptor)
            return port
        }
    }
    throw ProgramError("no free port from 10000 to 32767")
}

/// A loopback port that refuses all connections: this value occupies it, but does not listen.
public struct RefusingPort: ~Copyable {
    public let number: UInt16
    private let descriptor: Int32

    public init() throws {
        let port = try freePort()
        guard let descriptor = bindSocket(port: port) else { throw ProgramError("port \(port) is in use") }
        number = port
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}

/// Returns whether a program listens on a loopback port.
public func canConnect(port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    return withLoopback(port: port) { connect(descriptor, $0, $1) == 0 }
}

/// The ports returned by `freePort`, some of which may not be in use yet.
private let returnedPorts = Mutex<Set<UInt16>>([])

/// Returns a socket bound to a loopback port, or nil if the port is in use.
private func bindSocket(port: UInt16) -> Int32? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if withLoopback(port: port, { bind(descriptor, $0, $1) == 0 }) { return descriptor }
    close(descriptor)
    return nil
}

private func withLoopback(port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}
