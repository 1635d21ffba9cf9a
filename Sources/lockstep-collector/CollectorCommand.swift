import ArgumentParser
import LockstepClickHouse
import LockstepCollector
import LockstepCommandLine
import LockstepModel
import LockstepStore
import LockstepSupervision
import LockstepWire
import Logging
import ServiceLifecycle

/// The program `lockstep-collector`.
@main
struct CollectorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep-collector",
        abstract: "Store every sample once, acknowledge it after the commit, and publish each device's state.",
        discussion: """
            Each option can also be set in the environment or in a YAML file: --max-payload is \
            LOCKSTEP_MAX_PAYLOAD in the environment and 'max-payload: …' in the file. The command line overrides the \
            environment, and the environment overrides the file. An option that may be repeated is a list in the \
            file, and a comma-separated text in the environment.

            SIGNALS
              SIGHUP            read the rules again; a faulty file is refused
              SIGTERM, SIGINT   commit, publish the status 'offline', and exit;
                                another signal a second later exits at once

            EXAMPLE
              lockstep-collector --broker mqtt://localhost --store sqlite:samples.db
            """,
        version: "lockstep-collector \(lockstepVersion)")

    @OptionGroup(title: "Broker") var broker: BrokerOptions
    @OptionGroup(title: "Logging") var log: LogOptions

    @Option(help: "YAML file with settings (default: the file named by LOCKSTEP_CONFIG, if set).")
    var config: String?

    @Option(
        help: """
            Store for the samples (required): sqlite:PATH, or clickhouse://[user@]host[:port][,host…]/database for a \
            ClickHouse server or its replicas. The file or database is created if it does not exist.
            """)
    var store: String?

    @Option(
        help: """
            File with the password of the ClickHouse user on its first line, readable only by its owner \
            (LOCKSTEP_STORE_PASSWORD also sets the password).
            """)
    var storePasswordFile: String?

    @Option(
        help: """
            Id of this collector; the broker keeps its session under this id (default: main). While a collector with \
            this id is running with another store, this one does not start.
            """)
    var id: String?

    @Flag(
        help: """
            Start although a collector with this id is running with another store, and replace it: the other one then \
            stays disconnected while this one is running, see docs/operations.md.
            """)
    var takeOver = false

    @Option(help: "Collect only the devices of this group; may be repeated (default: all groups).")
    var group: [String] = []

    @Option(
        help: """
            Name of a cluster of collectors that share a ClickHouse store, see docs/cluster.md. It needs --lease-server. \
            All collectors need the same --group options, each with GROUP, or GROUP:COUNT to divide a group into \
            partitions (default: none).
            """)
    var cluster: String?

    @Option(
        help: """
            NATS servers with JetStream that keep the leases of a cluster, whatever the broker is: nats://host[:port] \
            or tls://host[:port], separated by commas. User, password and certificates are those of the broker.
            """)
    var leaseServer: String?

    @Flag(
        help: """
            Wait until no other collector with this id is active, and then take over its SQLite store and its session, \
            see docs/operations.md.
            """)
    var standby = false

    @Option(help: "Topic prefix (default: lockstep).")
    var root: String?

    @Option(help: "Time without messages after which the state of a device becomes background (default: 75s).")
    var silence: String?

    @Option(
        help: """
            Maximum time in the state resumed; after it, or with the next live sample, the state becomes active \
            (default: 5s).
            """)
    var settle: String?

    @Option(help: "Maximum size of a payload in bytes (default: 1M).")
    var maxPayload: String?

    @Option(help: "Maximum number of samples in a batch (default: 10000).")
    var maxSamples: String?

    @Option(help: "Maximum number of devices; messages from further devices are rejected (default: 100000).")
    var maxDevices: String?

    @Option(
        help: "Maximum time that a sample may lie in the future; batches with later samples are rejected (default: 1d)."
    )
    var maxFuture: String?

    @Option(help: "Maximum number of rejected messages to keep; the oldest are deleted first (default: 10000).")
    var keepRejected: String?

    @Option(help: "Maximum number of conflicting samples to keep; further ones are only counted (default: 100000).")
    var keepConflicts: String?

    @Option(
        help: """
            Number of ClickHouse replicas that must hold a sample before it is acknowledged: majority, or a number, see \
            docs/replicas.md (default: none, the tables are not replicated).
            """)
    var quorum: String?

    @Option(
        help: """
            Age from which samples in a ClickHouse store are deleted, at least 1d, such as 90d (default: they are kept). \
            Whole partitions are deleted, so that samples may become 31 days older.
            """)
    var keepSamples: String?

    @Option(
        help: """
            Durability of acknowledged samples: full or normal (default: full). With full, each commit is synced to \
            disk before it is acknowledged. With normal, a power cut or kernel crash can lose samples that were \
            acknowledged in the last seconds and that agents have already deleted. ClickHouse before 20.10 supports \
            only normal.
            """)
    var sync: String?

    @Option(help: "YAML file with rules, see docs/rules.md (default: none).")
    var rules: String?

    static let names =
        BrokerOptions.names + LogOptions.names + [
            "store", "store-password-file", "store-password", "id", "group", "cluster", "lease-server", "standby",
            "take-over", "root", "silence", "settle",
            "max-payload",
            "max-samples", "max-devices",
            "max-future", "keep-rejected", "keep-conflicts", "keep-samples", "quorum", "sync", "streams", "rules",
        ]

    static func main() async { await runProgram() }

    func run() async throws {
        let settings = try Settings(names: Self.names, file: config)
        var configuration = try collectorConfiguration(settings)
        let shares = try clusterShares(settings)
        let logger = try log.makeLogger("lockstep-collector", settings)
        let makeStore = try storeFactory(settings, shares: shares?.shares.count ?? 1, logger: logger)
        configuration.sessionClaim = try sessionClaim(settings, isMember: shares != nil)
        try setRules(&configuration, settings)
        let openStore: @Sendable () throws -> sending any SampleStore = {
            do { return try makeStore() } catch let error as StoreError {
                guard let place = error.stream.flatMap(settings.place(ofStream:)) else { throw error }
                throw CommandFailure("\(place): \(error)")
            }
        }
        if let shares {
            guard configuration.id.rawValue.utf8.count <= ClusterConfiguration.maxIDLength else {
                throw CommandFailure(
                    "the id '\(configuration.id)' is too long for a collector of a cluster: use at most "
                        + "\(ClusterConfiguration.maxIDLength) characters")
            }
            let cluster = ClusterConfiguration(
                cluster: shares.cluster, shares: shares.shares, collector: configuration,
                leaseServer: try leaseServer(settings, of: configuration))
            // Wrong settings of the store are an error at the start, as without a cluster.
            try StorePatience.open(openStore).close()
            try await checkLeaseServer(cluster)
            let collector = ClusterCollector(
                cluster, logger: logger, supervisor: Supervisor(), makeStore: openStore)
            return try await run(collector, hasRules: configuration.loadRules != nil) { collector.reloadRules() }
        }
        guard try settings.value("lease-server", leaseServer, parse: { $0 }) == nil else {
            throw CommandFailure("--lease-server is only for collectors of a cluster: add --cluster")
        }
        let collector = Collector(configuration, logger: logger, supervisor: Supervisor()) {
            try StorePatience.open(openStore)
        }
        try await run(collector, hasRules: configuration.loadRules != nil) { collector.reloadRules() }
    }

    /// Reads a lease once. While a node of the cluster is elected, this is tried again.
    private func checkLeaseServer(_ cluster: ClusterConfiguration) async throws {
        for _ in 1...4 {
            do { return try cluster.checkLeaseServer() } catch { try await Task.sleep(for: .seconds(1)) }
        }
        do { try cluster.checkLeaseServer() } catch { throw CommandFailure("--lease-server: \(error)") }
    }

    private func run(
        _ collector: any Service, hasRules: Bool, reloadRules: @escaping @Sendable () -> Void
    ) async throws {
        // Without rules, SIGHUP ends the collector as usual.
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = []
        if hasRules { services.append(.init(service: await ReloadSignals(reloadRules))) }
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(
                        service: collector, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup),
                    .init(service: await TerminationSignals(), successTerminationBehavior: .gracefullyShutdownGroup),
                ] + services,
                logger: .quiet))
        try await group.run()
    }

    private func collectorConfiguration(_ settings: Settings) throws -> CollectorConfiguration {
        var configuration = CollectorConfiguration(
            id: try settings.value("id", id) { try CollectorID(validating: $0) } ?? CollectorID(validating: "main"),
            broker: try broker.address(settings))
        configuration.tls = try broker.tls(settings)
        configuration.mqttVersion = try broker.version(settings)
        if let seconds = try broker.keepAlive(settings) { configuration.keepAlive = seconds }
        if try settings.value("cluster", cluster, parse: { $0 }) == nil {
            configuration.groups = try settings.values("group", group) { try GroupID(validating: $0) }
        }
        if let root = try settings.value("root", root, parse: { try TopicRoot($0) }) { configuration.root = root }
        configuration.root.streams = settings.streams
        if let silence = try settings.value("silence", silence, parse: parseDuration) {
            configuration.timing.silence = silence
        }
        if let settle = try settings.value("settle", settle, parse: parseDuration) {
            configuration.timing.settle = settle
        }
        if let bytes = try settings.value("max-payload", maxPayload, parse: byteCount) {
            configuration.limits.bytes = bytes
        }
        if let limit = try settings.value("max-samples", maxSamples, parse: { try wholeNumber($0, in: 1...1_000_000) })
        {
            configuration.limits.samples = limit
        }
        if let limit = try settings.value(
            "max-devices", maxDevices, parse: { try wholeNumber($0, in: 1...10_000_000) })
        {
            configuration.maximumDevices = limit
        }
        configuration.version = lockstepVersion
        if let future = try settings.value("max-future", maxFuture, parse: parseDuration) {
            configuration.maximumFuture = future
        }
        return configuration
    }
}
