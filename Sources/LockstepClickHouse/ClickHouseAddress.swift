/// The address of a ClickHouse database: `clickhouse://[user@]host[:port]/database`, or `clickhouses://` for TLS.
///
/// The address has no password, because every user of a machine can read the command line of every process.
public struct ClickHouseAddress: Hashable, Sendable {
    /// Whether the connection uses TLS.
    public var usesTLS: Bool
    /// The host name or IP address, without brackets.
    public var host: String
    /// The port of the HTTP interface.
    public var port: UInt16
    /// The user name; nil for the server's default user.
    public var user: String?
    /// The password, if any.
    public var password: String?
    /// The name of the database.
    public var database: String

    /// Parses an address.
    ///
    /// The default port is 8123, or 8443 with TLS. An IPv6 address must be in brackets.
    /// - Throws: ``ClickHouseAddressError`` if the text is not a valid address.
    public init(_ text: String) throws(ClickHouseAddressError) {
        guard let scheme = text.firstRange(of: "://") else { throw ClickHouseAddressError("clickhouse:// is missing") }
        switch text[..<scheme.lowerBound] {
        case "clickhouse": usesTLS = false
        case "clickhouses": usesTLS = true
        default: throw ClickHouseAddressError("the scheme is neither clickhouse nor clickhouses")
        }
        let parts = text[scheme.upperBound...].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, isName(parts[1]) else {
            throw ClickHouseAddressError("the database is missing, or not a name of letters, digits and _")
        }
        database = String(parts[1])
        var server = parts[0]
        if let at = server.lastIndex(of: "@") {
            let user = server[..<at]
            guard !user.contains(":") else {
                throw ClickHouseAddressError("a password does not belong here: use --store-password-file")
            }
            guard isName(user) else {
                throw ClickHouseAddressError("the user name is not a name of letters, digits and _")
            }
            self.user = String(user)
            server = server[server.index(after: at)...]
        }
        var port = usesTLS ? "8443" : "8123"
        if server.hasPrefix("["), let end = server.firstIndex(of: "]") {
            host = String(server[server.index(after: server.startIndex)..<end])
            let tail = server[server.index(after: end)...]
            guard tail.isEmpty || tail.hasPrefix(":") else {
                throw ClickHouseAddressError("only :port may follow ']'")
            }
            if !tail.isEmpty { port = String(tail.dropFirst()) }
        } else {
            let parts = server.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2 else { throw ClickHouseAddressError("an IPv6 address must be in [ ]") }
            host = String(parts[0])
            if parts.count == 2 { port = String(parts[1]) }
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ isHostByte($0) }) else {
            throw ClickHouseAddressError("the host is missing or invalid")
        }
        guard let number = UInt16(port), number > 0 else {
            throw ClickHouseAddressError("the port is not from 1 to 65535")
        }
        self.port = number
    }

    /// The address of the server's HTTP interface.
    var url: String { "\(usesTLS ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)/" }
}

extension ClickHouseAddress: CustomStringConvertible {
    /// The address without the user name, suitable for logs.
    public var description: String {
        "\(usesTLS ? "clickhouses" : "clickhouse")://\(host.contains(":") ? "[\(host)]" : host):\(port)/\(database)"
    }
}

/// The reason why a text is not an address of a ClickHouse database.
public struct ClickHouseAddressError: Error, Hashable, CustomStringConvertible {
    let reason: String
    init(_ reason: String) { self.reason = reason }
    /// The text with the reason.
    public var description: String {
        "not an address of a ClickHouse database: \(reason); use clickhouse://[user@]host[:port]/database"
    }
}

/// Returns whether `text` can be a name in SQL without quotes.
private func isName(_ text: Substring) -> Bool {
    guard let first = text.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
    return text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

private func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
        UInt8(ascii: ":"), UInt8(ascii: "%"):
        true
    default: false
    }
}
