import Glibc
import NIOCore

/// An error at the start of a server. Its text states what happened and what to do.
package struct ServerError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    /// Returns an error that says why the address cannot be used and what to do, or `error` if that is not its cause.
    package static func explaining(_ error: any Error, at address: ListenAddress) -> any Error {
        problem(error).map { ServerError("--listen \(address): \($0)") } ?? error
    }

    private static func problem(_ error: any Error) -> String? {
        if error is SocketAddressError.UnknownHost {
            return "cannot resolve the host name: use an address of this machine, or 0.0.0.0 for all of them"
        }
        return switch (error as? IOError)?.errnoCode {
        case EADDRINUSE:
            "another program uses this port: stop it ('ss -ltnp' shows it), or choose another port"
        case EADDRNOTAVAIL:
            "this machine does not have this address: use one that 'ip address' shows, or 0.0.0.0 for all of them"
        case EACCES:
            "this user may not use this port: choose one above 1023, or grant CAP_NET_BIND_SERVICE"
        default: nil
        }
    }
}
