package import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle

extension HTTPListener {
    /// The time that open requests and answers have to end when a server stops.
    private static let stopTimeout = Duration.seconds(3)

    /// Runs a server until the surrounding task or service group shuts down.
    /// - Parameters:
    ///   - tls: the PEM files of the certificate and its key, or nil for HTTP without TLS.
    ///   - access: who may use it, such as `tokens`, for the log; nil if everyone on this machine may.
    ///   - details: more for the log entry of the start.
    ///   - onStop: called when the shutdown begins, to end what would keep connections open.
    /// - Throws: an error if the address cannot be used, or the certificate cannot be read.
    package static func run<Responder: HTTPResponder>(
        _ responder: Responder, on address: ListenAddress, tls: (certificateFile: String, keyFile: String)?,
        limits: HTTPLimits, connections: OpenConnections, access: String?, details: Logger.Metadata, logger: Logger,
        onStop: @escaping @Sendable () -> Void = {}
    ) async throws where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        // The program logs what Hummingbird would log as information, in its own style.
        var quiet = logger
        quiet.logLevel = max(.warning, logger.logLevel)
        do {
            let application = Application(
                responder: responder, server: try builder(limits, tls: tls, connections: connections),
                configuration: .init(address: .hostname(address.host, port: address.port), backlog: 1024),
                onServerRunning: { channel in
                    let port = channel.localAddress?.port ?? address.port
                    let url = "\(tls == nil ? "http" : "https")://\(address.urlHost):\(port)/"
                    logger.info(
                        "server started",
                        metadata: details.merging(
                            ["address": "\(url)", "access": "\(access ?? "this machine")"], uniquingKeysWith: { $1 }))
                    guard access != nil, tls == nil, !address.isLoopback else { return }
                    logger.warning(
                        """
                        tokens are sent without TLS: set --server-cert-file and --server-key-file, or use a proxy with TLS
                        """)
                },
                eventLoopGroupProvider: .shared(eventLoops), logger: quiet)
            try await withGracefulShutdownHandler {
                try await application.run()
            } onGracefulShutdown: {
                onStop()
                Task {
                    try? await Task.sleep(for: stopTimeout)
                    connections.closeAll()
                }
            }
        } catch { throw ServerError.explaining(error, at: address) }
    }
}
