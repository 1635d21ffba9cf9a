import CNATS
import LockstepModel

/// The options of a connection to a NATS cluster.
public struct NATSOptions: Hashable, Sendable {
    /// The servers. Each connection uses one that answers.
    public var servers: NATSServers
    /// The name of the connection in the server's reports.
    public var name: String
    /// The user name, if any.
    public var user: String?
    /// The password of the user, if any.
    public var password: String?
    /// The path of a PEM file with the trusted CA certificates; nil for those of the operating system.
    public var authorityFile: String?
    /// The path of the PEM file of the client certificate, if any.
    public var certificateFile: String?
    /// The path of the PEM file of the private key of the client certificate, if any.
    public var keyFile: String?
    /// The maximum time to wait for a connection to one server, in ms.
    public var connectTimeout: Int64 = 1000
    /// The maximum time to wait for an answer, in ms.
    public var requestTimeout: Int64 = 2000

    /// Creates options.
    public init(servers: NATSServers, name: String) {
        self.servers = servers
        self.name = name
    }
}

extension NATSOptions {
    /// Returns the options for libnats, which the caller must destroy.
    /// - Throws: ``NATSError`` for values that libnats rejects, such as an unreadable file.
    func makeLibraryOptions() throws(NATSError) -> OpaquePointer {
        var created: OpaquePointer?
        guard natsOptions_Create(&created) == NATS_OK, let options = created else {
            throw NATSError("libnats cannot be initialized")
        }
        do throws(NATSError) {
            try setConnection(options)
            if servers.usesTLS { try setTLS(options) }
        } catch {
            natsOptions_Destroy(options)
            throw error
        }
        return options
    }

    private func setConnection(_ options: OpaquePointer) throws(NATSError) {
        let urls = servers.urls.map { Array($0.utf8CString) }
        try check(
            Self.withPointers(urls) { natsOptions_SetServers(options, $0, Int32(urls.count)) },
            "invalid addresses \(servers)")
        try check(natsOptions_SetName(options, name), "invalid name '\(name)'")
        if let user { try check(natsOptions_SetUserInfo(options, user, password ?? ""), "invalid user '\(user)'") }
        try check(natsOptions_SetTimeout(options, connectTimeout), "invalid timeout")
        // A new connection is made instead, so that no request is sent later than its sender knows.
        try check(natsOptions_SetAllowReconnect(options, false), "invalid option")
        try check(natsOptions_SetPingInterval(options, 2000), "invalid interval")
        try check(natsOptions_SetMaxPingsOut(options, 2), "invalid number of pings")
    }

    private func setTLS(_ options: OpaquePointer) throws(NATSError) {
        try check(natsOptions_SetSecure(options, true), "libnats has no TLS")
        if let authorityFile {
            try check(
                natsOptions_LoadCATrustedCertificates(options, authorityFile), "cannot use the file \(authorityFile)")
        }
        if let certificateFile, let keyFile {
            try check(
                natsOptions_LoadCertificatesChain(options, certificateFile, keyFile),
                "cannot use the files \(certificateFile) and \(keyFile)")
        }
    }

    private func check(_ status: natsStatus, _ task: String) throws(NATSError) {
        guard status == NATS_OK else { throw NATSError(status, task) }
    }

    private static func withPointers(
        _ texts: [[CChar]], _ body: (UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> natsStatus
    ) -> natsStatus {
        let flat = texts.flatMap { $0 }
        return flat.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return NATS_OK }
            var offset = 0
            var pointers: [UnsafePointer<CChar>?] = texts.map { text in
                defer { offset += text.count }
                return base + offset
            }
            return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress) }
        }
    }
}

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
        do { return try HostPort(text, defaultPort: 4222).description } catch { throw NATSServersError(error.reason) }
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
