import Glibc
import LockstepSystem

/// A loopback port that refuses all connections: this value occupies it, but does not listen.
public struct RefusingPort: ~Copyable {
    public let number: UInt16
    private let descriptor: Int32

    public init() throws {
        let port = try freePort()
        guard let descriptor = boundSocket(port: port) else { throw ProgramError("port \(port) is in use") }
        number = port
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}
