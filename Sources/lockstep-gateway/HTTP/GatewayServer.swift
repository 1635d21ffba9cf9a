public import LockstepGateway
public import LockstepHTTP
public import Logging
public import ServiceLifecycle

/// A service that takes the messages of foreign devices by HTTP, and hands them to a gateway.
public struct GatewayServer: Service {
    private let configuration: GatewayServerConfiguration
    private let responder: GatewayResponder
    private let logger: Logger

    /// Creates a server, which starts with ``run()``.
    /// - Precondition: the configuration is safe, see ``GatewayServerConfiguration/safetyProblem``.
    public init(
        _ configuration: GatewayServerConfiguration, gateway: Gateway, adapters: [any GatewayAdapter], logger: Logger
    ) {
        precondition(configuration.safetyProblem == nil)
        self.configuration = configuration
        self.logger = logger
        responder = GatewayResponder(
            configuration, adapters: adapters, logger: logger, countRefusedLogin: { gateway.countRefusedLogin() },
            accept: { await gateway.accept($0) })
    }

    /// Runs until the surrounding task or service group shuts down.
    /// - Throws: an error if the address cannot be used, or the certificate cannot be read.
    public func run() async throws {
        try await HTTPListener.run(
            responder, on: configuration.listen, tls: configuration.tls, limits: configuration.limits,
            connections: OpenConnections(configuration.limits), access: configuration.users.map { _ in "users" },
            details: configuration.pageFolder == nil ? ["page": "missing"] : [:], logger: logger)
    }
}

/// The settings of the HTTP server of a gateway.
public struct GatewayServerConfiguration: Sendable {
    /// The address to listen on.
    public var listen: ListenAddress
    /// The users; nil if everyone on this machine may send.
    public var users: GatewayUsers?
    /// The PEM files of the server's certificate and its key, or nil for HTTP without TLS.
    public var tls: (certificateFile: String, keyFile: String)?
    /// The certificate of the authority in PEM, which phones install; nil for one that they trust already.
    public var authority: [UInt8]?
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
                + "file with users and tokens with --users-file, or listen on 127.0.0.1"
        }
        return nil
    }

    /// Checks that the server can start: that its certificate can be read, and its address can be used.
    /// - Throws: an error that says what to do.
    public func checkListener() async throws { try await HTTPListener.check(listen, tls: tls) }
}
