import Glibc
import HTTPTypes
import Hummingbird
import HummingbirdCore
import LockstepHTTP
import LockstepLive
public import LockstepModel
import LockstepStore
public import Logging
import NIOCore
public import ServiceLifecycle

/// A service that serves the page, the HTTP API and the metrics.
public struct LockstepServer: Service {
    /// The time that open answers have to end when the server stops.
    private static let stopTimeout = Duration.seconds(3)

    private let configuration: ServeConfiguration
    private let logger: Logger
    private let supervisor: Supervisor

    /// Creates a server, which starts with ``run()``.
    /// - Precondition: the configuration is safe, see ``ServeConfiguration/safetyProblem``.
    public init(_ configuration: ServeConfiguration, logger: Logger, supervisor: Supervisor = .disabled) {
        precondition(configuration.safetyProblem == nil)
        self.configuration = configuration
        self.logger = logger
        self.supervisor = supervisor
    }

    /// Runs until the surrounding task or service group shuts down.
    /// - Throws: an error if the address cannot be used, or the certificate cannot be read.
    public func run() async throws {
        let parts = ServerParts(configuration, logger: logger)
        let result = await Result {
            let application = Application(
                responder: parts.responder(),
                server: try HTTPListener.builder(
                    configuration.limits.http, tls: configuration.tls, connections: parts.connections),
                configuration: .init(
                    address: .hostname(configuration.listen.host, port: configuration.listen.port), backlog: 1024),
                onServerRunning: { channel in didStart(on: channel) },
                eventLoopGroupProvider: .shared(HTTPListener.eventLoops),
                logger: hummingbirdLogger)
            try await run(application, parts)
        }
        parts.stop()
        do { try result.get() } catch { throw ServerError.explaining(error, at: configuration.listen) }
        logger.info("server stopped")
    }

    private func run(_ application: some Service, _ parts: ServerParts) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await parts.feed.run() }
            if configuration.store != nil {
                tasks.addTask { await parts.seeder.run() }
            }
            tasks.addTask { await report(parts) }
            try await withGracefulShutdownHandler {
                try await application.run()
            } onGracefulShutdown: {
                // Ends event streams and queries, so that their connections close.
                parts.stop()
                Task {
                    try? await Task.sleep(for: Self.stopTimeout)
                    parts.connections.closeAll()
                }
            }
            tasks.cancelAll()
        }
    }

    /// Reports to the supervisor until the task is cancelled.
    private func report(_ parts: ServerParts) async {
        while !Task.isCancelled {
            supervisor.didTurn(
                "\(parts.connections.counter.count) connections; "
                    + (parts.status.problems.first ?? "connected to \(configuration.broker)"))
            try? await Task.sleep(for: .seconds(1))
        }
    }

    /// A logger for Hummingbird, whose informational events this server logs in its own style.
    private var hummingbirdLogger: Logger {
        var quiet = logger
        quiet.logLevel = max(.warning, logger.logLevel)
        return quiet
    }

    private func didStart(on channel: any Channel) {
        let port = channel.localAddress?.port ?? configuration.listen.port
        let scheme = configuration.tls == nil ? "http" : "https"
        var metadata: Logger.Metadata = [
            "address": "\(scheme)://\(configuration.listen.urlHost):\(port)/",
            "access": "\(configuration.tokens == nil ? "this machine" : "tokens")",
        ]
        if configuration.isReadOnly { metadata["mode"] = "read-only" }
        if configuration.pageFolder == nil { metadata["page"] = "missing" }
        logger.info("server started", metadata: metadata)
        if configuration.tokens != nil, configuration.tls == nil, !configuration.listen.isLoopback {
            logger.warning(
                "tokens are sent without TLS: set --server-cert-file and --server-key-file, or use a proxy with TLS")
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
