public import LockstepHTTP

/// The settings of the HTTP server of a gateway.
public struct GatewayServerConfiguration: Sendable {
    /// The address to listen on.
    public var listen: ListenAddress
    /// The users; nil if everyone on this machine may send.
    public var users: GatewayUsers?
    /// The PEM files of the server's certificate and its key, or nil for HTTP without TLS.
    public var tls: (certificateFile: String, keyFile: String)?
    /// The folder with the files of the page `/join`, or nil if it was not found.
    public var pageFolder: String?
    /// The limits of connections and requests.
    public var limits = HTTPLimits()
    /// The maximum size of all request bodies that are being read or wait for a commit, in bytes.
    public var pendingBytes = 64 << 20

    /// Creates a configuration with defaults.
    public init(listen: ListenAddress) { self.listen = listen }

    /// The reason why the configuration is unsafe, and what to do; nil if it is safe.
    public var safetyProblem: String? {
        guard !listen.isLoopback else { return nil }
        if users == nil {
            return "--listen \(listen): without tokens, everyone who reaches this address could send samples: name a "
                + "file with users and tokens with --token-file, or listen on 127.0.0.1"
        }
        return nil
    }

    /// Checks that the server can start: that its certificate can be read, and its address can be used.
    /// - Throws: an error that says what to do.
    public func checkListener() async throws { try await HTTPListener.check(listen, tls: tls) }
}
