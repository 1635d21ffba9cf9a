import ArgumentParser
import LockstepClickHouse
import LockstepCommandLine
import LockstepHTTP
import LockstepMQTT
import LockstepServe
import LockstepSupervision
import LockstepWire
import Logging
import ServiceLifecycle

/// The program `lockstep-serve`.
@main
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep-serve",
        abstract: "Serve a page, an HTTP API and metrics of all devices.",
        discussion: """
            The server subscribes to the broker for what is live, and reads the store for what is past. It never writes \
            to the store, and the collector does not depend on it. If the broker or the store is missing, it serves the \
            rest and tries again.

            Each option can also be set in the environment or in a YAML file: --token-file is LOCKSTEP_TOKEN_FILE in \
            the environment and 'token-file: …' in the file. The command line overrides the environment, and the \
            environment overrides the file.

            SIGNALS
              SIGTERM, SIGINT   close all connections and exit; another signal a
                                second later exits at once

            EXAMPLES
              lockstep-serve --broker mqtt://localhost --store sqlite:samples.db
              lockstep-serve --listen 0.0.0.0:8443 --token-file tokens \\
                  --tls-certificate server.pem --tls-key server.key
            """,
        version: "lockstep-serve \(lockstepVersion)")

    @OptionGroup(title: "Broker") var broker: BrokerOptions
    @OptionGroup(title: "Logging") var log: LogOptions

    @Option(help: "YAML file with settings (default: the file named by LOCKSTEP_CONFIG, if set).")
    var config: String?

    @Option(
        help: """
            Store to read: sqlite:PATH, or clickhouse://[user@]host[:port][,host…]/database (default: none, only live data).
            """)
    var store: String?

    @Option(
        help: """
            File with the password of the ClickHouse user on its first line, readable only by its owner \
            (LOCKSTEP_STORE_PASSWORD also sets the password).
            """)
    var storePasswordFile: String?

    @Option(help: "Topic prefix (default: lockstep).")
    var root: String?

    @Option(
        help: """
            Address and port to listen on, or only a port of 127.0.0.1 (default: 127.0.0.1:8080). Other addresses than \
            those of this machine itself require --token-file.
            """)
    var listen: String?

    @Option(
        help: """
            File with the tokens of clients, readable only by its owner: lines 'read TOKEN' or 'operate TOKEN' \
            (default: none, everyone on this machine has all rights).
            """)
    var tokenFile: String?

    @OptionGroup var certificate: CertificateOptions

    @Flag(help: "Remove the right to send commands and to acknowledge events from all clients.")
    var readOnly = false

    @Option(
        help: """
            Address of map tiles with the placeholders {z}, {x} and {y} (default: none). Browsers then request tiles \
            from this address, which reveals the positions that they show.
            """)
    var tiles: String?

    @Option(
        help: """
            Address of a gateway, such as https://HOST:8443. The page then shows its QR code, with which a phone joins \
            (default: none).
            """)
    var joinURL: String?

    @Option(help: "Folder with the files of the page (default: share/lockstep/page beside the program's folder).")
    var page: String?

    @Option(help: "Maximum number of connections, a quarter of them for one address (default: 1000).")
    var maxConnections: String?

    @Option(
        help: """
            Addresses or networks of reverse proxies, such as 127.0.0.1,10.1.0.0/16, whose field X-Forwarded-For names \
            the client for limits by address (default: none).
            """)
    var trustedProxy: String?

    @Option(
        help: """
            Maximum size of all answers that clients have not read yet; further ones wait, or are refused with 503 \
            (default: 128M).
            """)
    var maxUnsent: String?

    @Option(help: "Maximum number of devices with metrics of their own (default: 100).")
    var metricsDevices: String?

    @Option(
        help: """
            Maximum time that a sample may lie in the future; later ones are not shown. Use the value of the collectors \
            (default: 1d).
            """)
    var maxFuture: String?

    static let names =
        BrokerOptions.names + LogOptions.names + CertificateOptions.names + [
            "store", "store-password-file", "store-password", "root", "streams", "listen", "token-file", "read-only",
            "tiles", "join-url", "page", "max-connections",
            "trusted-proxy", "max-unsent", "metrics-devices", "max-future",
        ]

    private static let page = PageFolder(installed: "page", source: "Sources/LockstepServe/Page")

    static func main() async { await runProgram() }

    func run() async throws {
        let settings = try Settings(names: Self.names, file: config, ignoresUnknownKeys: true)
        let configuration = try serveConfiguration(settings)
        if let problem = configuration.safetyProblem { throw CommandFailure(problem) }
        try await configuration.checkListener()
        let logger = try log.makeLogger("lockstep-serve", settings)
        raiseDescriptorLimit()
        let server = LockstepServer(configuration, logger: logger, supervisor: Supervisor())
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(
                        service: server, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup),
                    .init(service: await TerminationSignals(), successTerminationBehavior: .gracefullyShutdownGroup),
                ],
                logger: .quiet))
        try await group.run()
    }

    private func serveConfiguration(_ settings: Settings) throws -> ServeConfiguration {
        var configuration = ServeConfiguration(broker: try broker.address(settings))
        configuration.brokerTLS = try broker.tls(settings)
        configuration.mqttVersion = try broker.version(settings)
        if let seconds = try broker.keepAlive(settings) { configuration.keepAlive = seconds }
        configuration.store = try settings.value("store", store, parse: { try StoreAddress($0) })?
            .with(password: StorePassword.read(storePasswordFile, settings))
        if let root = try settings.value("root", root, parse: { try TopicRoot($0) }) { configuration.root = root }
        configuration.root.streams = settings.streams
        if let listen = try settings.value("listen", listen, parse: listenAddress) { configuration.listen = listen }
        configuration.tokens = try settings.value("token-file", tokenFile, parse: accessTokens)
        configuration.tls = try certificate.files(settings)
        configuration.isReadOnly =
            try settings.value("read-only", readOnly ? "true" : nil, parse: truth) ?? false
        configuration.tiles = try settings.value("tiles", tiles, parse: tilesAddress)
        configuration.joinURL = try settings.value("join-url", joinURL, parse: joinAddress)
        configuration.pageFolder = try settings.value("page", page, parse: PageFolder.check) ?? Self.page.find()
        configuration.version = lockstepVersion
        if let limit = try settings.value(
            "max-connections", maxConnections, parse: { try wholeNumber($0, in: 1...100_000) })
        {
            configuration.limits.http.connections = limit
        }
        if let proxies = try settings.value("trusted-proxy", trustedProxy, parse: trustedProxies) {
            configuration.limits.http.trustedProxies = proxies
        }
        if let size = try settings.value("max-unsent", maxUnsent, parse: byteCount) {
            guard size >= 1 << 20 else { throw CommandFailure("--max-unsent \(size): use at least 1M") }
            configuration.limits.unsentBytes = size
        }
        if let future = try settings.value("max-future", maxFuture, parse: parseDuration) {
            configuration.maximumFuture = future
        }
        if let limit = try settings.value(
            "metrics-devices", metricsDevices, parse: { try wholeNumber($0, in: 0...100_000) })
        {
            configuration.metricsDevices = limit
        }
        return configuration
    }
}
