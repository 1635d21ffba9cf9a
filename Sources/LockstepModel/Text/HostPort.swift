/// A host and a port: `host`, `host:port`, `[IPv6 address]` or `[IPv6 address]:port`.
package struct HostPort: Hashable, Sendable, CustomStringConvertible {
    /// The host name or IP address, without brackets.
    package let host: String
    /// The TCP port.
    package let port: UInt16

    /// Parses a host with an optional port.
    /// - Throws: ``HostPortError`` if the text has another form.
    package init(_ text: Substring, defaultPort: UInt16) throws(HostPortError) {
        let host: Substring
        let tail: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { throw HostPortError("']' is missing") }
            host = text[..<end].dropFirst()
            tail = text[end...].dropFirst()
            guard tail.isEmpty || tail.hasPrefix(":") else { throw HostPortError("only :port may follow ']'") }
        } else {
            host = text.prefix { $0 != ":" }
            tail = text[host.endIndex...]
            guard !tail.dropFirst().contains(":") else { throw HostPortError("an IPv6 address must be in [ ]") }
        }
        guard !host.isEmpty, !host.contains(where: { $0 == "/" || $0.isWhitespace }) else {
            throw HostPortError("the host is missing or invalid")
        }
        guard let port = tail.isEmpty ? defaultPort : UInt16(tail.dropFirst()), port > 0 else {
            throw HostPortError("the port is not from 1 to 65535")
        }
        self.host = String(host)
        self.port = port
    }

    /// The host and the port, with an IPv6 address in brackets.
    package var description: String { Self.text(host, port) }

    /// Returns the text of a host and a port, with an IPv6 address in brackets.
    package static func text(_ host: String, _ port: UInt16) -> String {
        "\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}

/// The reason why a text is not a host with an optional port.
package struct HostPortError: Error, Hashable {
    package let reason: String
    init(_ reason: String) { self.reason = reason }
}
