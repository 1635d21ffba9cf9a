import Glibc
import NIOCore

/// An error at the start of a server. Its text states what happened and what to do.
package struct ServerError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    /// Returns an error that says so if another program uses the port, and `error` otherwise.
    package static func explaining(_ error: any Error, at address: ListenAddress) -> any Error {
        guard let cause = error as? IOError, cause.errnoCode == EADDRINUSE else { return error }
        return ServerError(
            "--listen \(address): another program uses this port: stop it ('ss -ltnp' shows it), or choose another port"
        )
    }
}
