import ArgumentParser
import LockstepClickHouse
import LockstepCommandLine
import LockstepHTTP
import LockstepMQTT
import LockstepModel
import LockstepServe
import LockstepWire
import Logging

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
              SIGTERM, SIGINT,
              SIGHUP            close all connections and exit; another signal a
                                second later exits at once

            EXAMPLES
              lockstep-serve --broker mqtt://localhost --store sqlite:samples.db
              lockstep-serve --listen 0.0.0.0:8443 --token-file tokens \\
                  --server-cert-file server.pem --server-key-file server.key
            """,
        version: "lockstep-serve \(lockstepVersion)")

    @OptionGroup(title: "Page") var options: Options<ServeSettings>
    @OptionGroup(title: "Logging") var log: LogOptions
    @OptionGroup(title: "Settings file") var file: SettingsFile
    @OptionGroup(title: "Broker") var broker: BrokerOptions

    static func main() async { await runProgram() }

    func run() async throws {
        let settings = try Settings(
            of: [BrokerSettings.self, LogSettings.self, ServeSettings.self], file: file.config)
        let configuration = try serveConfiguration(settings)
        if let problem = configuration.safetyProblem { throw CommandFailure(problem) }
        try await configuration.checkListener()
        let logger = try log.makeLogger("lockstep-serve", settings)
        raiseDescriptorLimit()
        try await runServices([LockstepServer(configuration, logger: logger, supervisor: Supervisor())])
    }

    private func serveConfiguration(_ settings: Settings) throws -> ServeConfiguration {
        var configuration = ServeConfiguration(broker: try broker.address(settings))
        configuration.brokerTLS = try broker.tls(settings)
        configuration.mqttVersion = try broker.version(settings)
        if let seconds = try broker.keepAlive(settings) { configuration.keepAlive = seconds }
        configuration.store = try settings.value(options.store)?.with(password: options.storePassword.read(settings))
        try settings.assign(options.root, to: &configuration.root)
        configuration.root.streams = settings.streams
        try settings.assign(options.listen, to: &configuration.listen)
        configuration.tokens = try settings.value(options.tokenFile)
        configuration.tls = try options.certificate.files(settings)
        configuration.isReadOnly = try settings.isOn(options.readOnly)
        configuration.tiles = try settings.value(options.tiles)
        configuration.joinURL = try settings.value(options.joinURL)
        configuration.pageFolder =
            try settings.value(options.page)
            ?? PageFolder.find(installed: "page", source: "Sources/LockstepServe/Page")
        configuration.version = lockstepVersion
        try settings.assign(options.maxConnections, to: &configuration.limits.http.connections)
        try settings.assign(options.trustedProxy, to: &configuration.limits.http.trustedProxies)
        try settings.assign(options.maxUnsent, to: &configuration.limits.unsentBytes)
        try settings.assign(options.maxFuture, to: &configuration.maxFuture)
        try settings.assign(options.metricsDevices, to: &configuration.metricsDevices)
        return configuration
    }
}
