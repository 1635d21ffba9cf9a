import Glibc

/// An IP address, and the name under which limits count it.
package struct ClientAddress: Hashable, Sendable, CustomStringConvertible {
    /// The four bytes of an IPv4 address, or the sixteen of an IPv6 address.
    let bytes: [UInt8]
    package let description: String

    /// Parses an address. An IPv4 address that is written as an IPv6 address, such as `::ffff:192.0.2.1`, is an IPv4
    /// address. Returns nil for any other text.
    package init?(_ text: some StringProtocol) {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, String(text), &bytes) == 1 {
            bytes.removeLast(12)
        } else if inet_pton(AF_INET6, String(text.prefix { $0 != "%" }), &bytes) == 1 {
            if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) { bytes.removeFirst(12) }
        } else {
            return nil
        }
        self.bytes = bytes
        description =
            bytes.count == 4 ? bytes.map(String.init).joined(separator: ".") : String(text.prefix { $0 != "%" })
    }

    /// The name under which limits count the address. Of an IPv6 address, it is that of its /64 network, because one
    /// machine can use all addresses of such a network.
    package var limitKey: String {
        guard bytes.count == 16 else { return description }
        return bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ".") + "/64"
    }

    /// Whether this machine itself is the other end.
    package var isLoopback: Bool { bytes.count == 4 ? bytes[0] == 127 : bytes == Array(repeating: 0, count: 15) + [1] }
}

/// The other end of a connection or a request, as far as limits are concerned.
package struct Client: Hashable, Sendable {
    /// The name under which limits by address count the client. Nil if they do not apply, because the address is that of
    /// this machine or of a proxy, which any number of clients share.
    package let limitKey: String?
    /// The address, or `unknown`.
    package let address: String

    /// The name under which the client is counted where addresses that are shared have a limit as well.
    package var sharedKey: String { limitKey ?? address }

    package init(limitKey: String?, address: String) {
        self.limitKey = limitKey
        self.address = address
    }
}
