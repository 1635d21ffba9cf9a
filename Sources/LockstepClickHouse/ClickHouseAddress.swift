import LockstepModel

/// The address of a ClickHouse database: `clickhouse://[user@]host[:port][,host[:port]…]/database`, or `clickhouses://` for
/// TLS. Several hosts are replicas of the same database.
///
/// The address has no password, because every user of a machine can read the command line of every process.
public struct ClickHouseAddress: Hashable, Sendable {
    /// Whether the connection uses TLS.
    public var usesTLS: Bool
    /// The servers: one, or the replicas in the order in which programs try them.
    public var servers: [Server]
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
        let defaultPort = usesTLS ? 8443 : 8123 as UInt16
        var servers: [Server] = []
        for part in server.split(separator: ",", omittingEmptySubsequences: false) {
            let server = try Server(part, defaultPort: defaultPort)
            guard !servers.contains(server) else {
                throw ClickHouseAddressError("the host \(server) is given twice")
            }
            servers.append(server)
        }
        self.servers = servers
    }

    /// The address of the database on each server.
    public var replicas: [ClickHouseAddress] { servers.map(on) }

    /// Returns the address of the database on one of the servers.
    func on(_ server: Server) -> ClickHouseAddress {
        var address = self
        address.servers = [server]
        return address
    }

    /// Returns the address of a server's HTTP interface.
    func url(of server: Server) -> String { "\(usesTLS ? "https" : "http")://\(server)/" }
}

extension ClickHouseAddress {
    /// A ClickHouse server.
    public struct Server: Hashable, Sendable, CustomStringConvertible {
        /// The host name or IP address, without brackets.
        public var host: String
        /// The port of the HTTP interface.
        public var port: UInt16

        /// The host and the port, as in an address.
        public var description: String { HostPort.text(host, port) }

        fileprivate init(_ text: Substring, defaultPort: UInt16) throws(ClickHouseAddressError) {
            do {
                let address = try HostPort(text, defaultPort: defaultPort)
                (host, port) = (address.host, address.port)
            } catch { throw ClickHouseAddressError(error.reason) }
            guard host.utf8.allSatisfy({ isHostByte($0) }) else {
                throw ClickHouseAddressError("the host is missing or invalid")
            }
        }
    }
}

extension ClickHouseAddress: CustomStringConvertible {
    /// The address without the user name, suitable for logs.
    public var description: String {
        "\(usesTLS ? "clickhouses" : "clickhouse")://\(servers.map(\.description).joined(separator: ","))/\(database)"
    }
}

/// The reason why a text is not an address of a ClickHouse database.
public struct ClickHouseAddressError: Error, Hashable, CustomStringConvertible {
    let reason: String
    init(_ reason: String) { self.reason = reason }
    /// The text with the reason.
    public var description: String {
        "not an address of a ClickHouse database: \(reason); use clickhouse://[user@]host[:port][,host…]/database"
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
