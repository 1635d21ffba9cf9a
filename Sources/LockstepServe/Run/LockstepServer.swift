import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import LockstepModel
public import LockstepSupervision
public import Logging
import NIOCore
import NIOPosix
import NIOSSL
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
        let store = StorePool(
            path: configuration.storePath, threads: configuration.limits.storeThreads,
            maximumWaiting: configuration.limits.waitingReads)
        defer { store.stop() }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let connections = ConnectionCounter(maximum: configuration.limits.connections)
        let application = Application(
            responder: responder(store: store), server: try server(connections),
            configuration: .init(address: .hostname(configuration.listen.host, port: configuration.listen.port)),
            onServerRunning: { channel in didStart(on: channel) }, eventLoopGroupProvider: .shared(group),
            logger: hummingbirdLogger)
        let result = await Result { try await application.run() }
        try? await group.shutdownGracefully()
        try result.get()
        logger.info("server stopped")
    }

    private func responder(store: StorePool) -> ServeResponder {
        let policy = AccessPolicy(
            tokens: configuration.tokens, isReadOnly: configuration.isReadOnly, usesTLS: configuration.tls != nil)
        var routes = RouteTable<APIHandler>()
        SessionRoutes(policy: policy, version: configuration.version).add(to: &routes)
        HealthRoutes(
            configuration: configuration,
            status: { SystemStatus(broker: BrokerStatus(), storeProblem: store.problem) },
            collectors: { Array("[]".utf8) }
        ).add(to: &routes)
        StaticFiles(page: configuration.pageFolder, leaflet: configuration.leafletFolder).add(to: &routes)
        return ServeResponder(
            routes: routes, policy: policy, securityHeaders: SecurityHeaders(tiles: configuration.tiles),
            limits: configuration.limits, logger: logger)
    }

    private func server(_ connections: ConnectionCounter) throws -> HTTPServerBuilder {
        let limits = configuration.limits
        let http = HTTP1Channel.Configuration(
            additionalChannelHandlers: [RequestDeadlines(limits)],
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.headField, maxHeaderListSize: limits.head, maxHeaderFieldCount: 100))
        guard let files = configuration.tls else {
            return HTTPServerBuilder { responder in
                LimitedChannel(
                    base: HTTP1Channel(responder: responder, configuration: http), counter: connections, usesTLS: false)
            }
        }
        let tls = try Self.tlsConfiguration(files)
        return HTTPServerBuilder { responder in
            LimitedChannel(
                base: try TLSChannel(HTTP1Channel(responder: responder, configuration: http), tlsConfiguration: tls),
                counter: connections, usesTLS: true)
        }
    }

    private static func tlsConfiguration(
        _ files: (certificateFile: String, keyFile: String)
    ) throws -> TLSConfiguration {
        let chain = try NIOSSLCertificate.fromPEMFile(files.certificateFile)
        let key = try NIOSSLPrivateKey(file: files.keyFile, format: .pem)
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["http/1.1"]
        return tls
    }

    /// A logger for Hummingbird, whose informational events this server logs in its own style.
    private var hummingbirdLogger: Logger {
        var quiet = logger
        quiet.logLevel = max(.warning, logger.logLevel)
        return quiet
    }

    private func didStart(on channel: any Channel) {
        let port = channel.localAddress?.port ?? configuration.listen.port
        let address = ListenAddress("\(configuration.listen.urlHost):\(port)") ?? configuration.listen
        var metadata: Logger.Metadata = [
            "address": "\(configuration.tls == nil ? "http" : "https")://\(address)/",
            "rights": "\(configuration.tokens == nil ? "everyone on this machine" : "tokens")",
        ]
        if configuration.isReadOnly { metadata["mode"] = "read-only" }
        logger.info("server started", metadata: metadata)
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
