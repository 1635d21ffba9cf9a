/// The addresses of the servers of a NATS cluster: `nats://host[:port]` or `tls://host[:port]`, separated by commas.
///
/// User name and password are given separately, because every user of a machine can read the command line of a process.
public struct NATSServers: Hashable, Sendable, CustomStringConvertible {
    /// Whether connections use TLS.
    public let usesTLS: Bool
    /// The address of each server, with its port.
    public let urls: [String]

    /// Parses the addresses. The default port is 4222. An IPv6 address must be in brackets.
    /// - Throws: ``NATSServersError`` if the text is not valid.
    public init(_ text: String) throws(NATSServersError) {
        var schemes: Set<Substring> = []
        var urls: [String] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let separator = part.firstRange(of: "://") else { throw NATSServersError("nats:// is missing") }
            let scheme = part[..<separator.lowerBound]
            guard scheme == "nats" || scheme == "tls" else {
                throw NATSServersError("the scheme is neither nats nor tls")
            }
            schemes.insert(scheme)
            var rest = part[separator.upperBound...]
            if rest.hasSuffix("/") { rest = rest.dropLast() }
            urls.append("\(scheme)://\(try Self.hostAndPort(rest))")
        }
        guard schemes.count == 1 else { throw NATSServersError("either all servers use TLS or none") }
        usesTLS = schemes == ["tls"]
        self.urls = urls
    }

    /// The addresses, separated by commas.
    public var description: String { urls.joined(separator: ",") }

    private static func hostAndPort(_ text: Substring) throws(NATSServersError) -> String {
        guard !text.contains("@") else {
            throw NATSServersError("it contains a user: the user and the password are those of the broker")
        }
        let hostEnd: Substring.Index
        if text.hasPrefix("[") {
            guard let bracket = text.firstIndex(of: "]") else { throw NATSServersError("']' is missing") }
            hostEnd = text.index(after: bracket)
        } else {
            hostEnd = text.firstIndex(of: ":") ?? text.endIndex
        }
        let host = text[..<hostEnd]
        guard !host.isEmpty, host != "[]", !host.contains(where: { $0 == "/" || $0.isWhitespace }) else {
            throw NATSServersError("the host is missing or invalid")
        }
        let tail = text[hostEnd...]
        if tail.isEmpty { return "\(host):4222" }
        guard tail.hasPrefix(":"), let port = UInt16(tail.dropFirst()), port > 0 else {
            throw NATSServersError("the port is not from 1 to 65535")
        }
        return "\(host):\(port)"
    }
}

/// The reason why a text does not name NATS servers.
public struct NATSServersError: Error, Hashable, CustomStringConvertible {
    let reason: String
    init(_ reason: String) { self.reason = reason }
    /// The text with the reason.
    public var description: String {
        "not an address of a NATS server: \(reason); use nats://host[:port] or tls://host[:port], and a comma between servers"
    }
}
