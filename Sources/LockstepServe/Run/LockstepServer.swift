import LockstepHTTP
import LockstepLive
public import LockstepModel
public import Logging
public import ServiceLifecycle

/// A service that serves the page, the HTTP API and the metrics.
public struct LockstepServer: Service {
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
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            defer { parts.stop() }
            tasks.addTask { await parts.feed.run() }
            if configuration.store != nil {
                tasks.addTask { await parts.seeder.run() }
            }
            tasks.addTask { await report(parts) }
            var details: Logger.Metadata = configuration.isReadOnly ? ["mode": "read-only"] : [:]
            if configuration.pageFolder == nil { details["page"] = "missing" }
            try await HTTPListener.run(
                parts.responder(), on: configuration.listen, tls: configuration.tls, limits: configuration.limits.http,
                connections: parts.connections, access: configuration.tokens.map { _ in "tokens" }, details: details,
                logger: logger,
                // Ends event streams and queries, so that their connections close.
                onStop: { parts.stop() })
            tasks.cancelAll()
        }
        logger.info("server stopped")
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
}
