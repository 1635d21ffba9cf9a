import ArgumentParser
import LockstepClickHouse
import LockstepCollector
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepRules
import LockstepStore
import LockstepWire
import Logging
import ServiceLifecycle
import UnixSignals

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
              SIGHUP            read the rules again; a faulty file is refused.
                                Without rules, the same as SIGTERM
              SIGTERM, SIGINT   commit, publish the status 'offline', and exit;
                                another signal a second later exits at once

            EXAMPLE
              lockstep-collector --broker mqtt://localhost --store sqlite:samples.db
            """,
        version: "lockstep-collector \(lockstepVersion)")

    @OptionGroup(title: "Collector") var options: Options<CollectorSettings>
    @OptionGroup(title: "Logging") var log: LogOptions
    @OptionGroup(title: "Settings file") var file: SettingsFile
    @OptionGroup(title: "Broker") var broker: BrokerOptions

    static func main() async { await runProgram() }

    func run() async throws {
        let settings = try Settings(
            of: [BrokerSettings.self, LogSettings.self, CollectorSettings.self], file: file.config)
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
            try StorePatience.open(logger: logger, openStore)?.close()
            try await checkLeaseServer(cluster)
            let collector = ClusterCollector(
                cluster, logger: logger, supervisor: Supervisor(), makeStore: openStore)
            return try await run(collector, hasRules: configuration.loadRules != nil) { collector.reloadRules() }
        }
        guard settings.place(of: options.leaseServer) == nil else {
            throw CommandFailure("--lease-server is only for collectors of a cluster: add --cluster")
        }
        let collector = Collector(
            configuration, logger: logger, supervisor: Supervisor(), makeStore: openStore)
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
        try await runServices(
            [collector], helpers: hasRules ? [ReloadSignals(reloadRules)] : [], endsAtHangup: !hasRules)
    }

    private func collectorConfiguration(_ settings: Settings) throws -> CollectorConfiguration {
        let access = try broker.access(settings)
        var configuration = CollectorConfiguration(
            id: try settings.value(options.id) ?? CollectorID(validating: "main"), broker: access.address)
        configuration.broker = access
        if settings.place(of: options.cluster) == nil {
            configuration.groups = try settings.values(options.group) { try GroupID(validating: $0) }
        }
        try settings.assign(options.root, to: &configuration.root)
        configuration.root.streams = settings.streams
        try settings.assign(options.silence, to: &configuration.timing.silence)
        try settings.assign(options.settle, to: &configuration.timing.settle)
        try settings.assign(options.maxPayload, to: &configuration.limits.bytes)
        try settings.assign(options.maxSamples, to: &configuration.limits.samples)
        try settings.assign(options.maxDevices, to: &configuration.maxDevices)
        try settings.assign(options.maxFuture, to: &configuration.maxFuture)
        configuration.version = lockstepVersion
        return configuration
    }
}

extension CollectorCommand {
    /// Returns the cluster and its shares, or nil if the collector is not part of a cluster.
    func clusterShares(_ settings: Settings) throws -> (cluster: GroupID, shares: [CollectorShare])? {
        guard let cluster = try settings.value(options.cluster) else { return nil }
        if case .sqlite? = try settings.value(options.store) {
            throw CommandFailure(
                "an SQLite store belongs to one collector: use a ClickHouse store, or leave out --cluster")
        }
        let shares = try settings.values(options.group) { try CollectorShare.shares($0) }.flatMap { $0 }
        guard !shares.isEmpty else {
            throw CommandFailure("--cluster needs the groups that its collectors divide: use --group for each of them")
        }
        guard Set(shares.map(\.group)).count == Set(shares.map { "\($0.group) \($0.partitions)" }).count,
            Set(shares).count == shares.count
        else { throw CommandFailure("a group is named twice: use --group once for each group") }
        return (cluster, shares)
    }

    /// Returns the NATS servers that keep the leases of a cluster.
    func leaseServer(_ settings: Settings, of collector: CollectorConfiguration) throws -> NATSOptions {
        guard let servers = try settings.value(options.leaseServer) else {
            throw CommandFailure(
                "--cluster needs a NATS server that keeps the leases, whatever the broker is: start one with 'nats-server "
                    + "--jetstream --store_dir DIR' and add --lease-server nats://HOST:4222, see docs/cluster.md")
        }
        var options = NATSOptions(servers: servers, name: "lockstep-collector \(collector.id)")
        options.user = collector.broker.address.user
        options.password = collector.broker.address.password
        guard servers.usesTLS else {
            // Otherwise the password would be sent without encryption, though the user has asked for it.
            guard !collector.broker.address.usesTLS else {
                throw CommandFailure("the broker uses TLS, but --lease-server does not: use tls:// instead of nats://")
            }
            return options
        }
        options.authorityFile = collector.broker.tls.authorityFile
        options.certificateFile = collector.broker.tls.certificateFile
        options.keyFile = collector.broker.tls.keyFile
        return options
    }
}

extension CollectorCommand {
    /// Sets the rules of a collector. A faulty file is refused at the start, too.
    func setRules(_ configuration: inout CollectorConfiguration, _ settings: Settings) throws {
        guard let file = try settings.value(options.rules) else { return }
        let streams = settings.streams
        var load: @Sendable () throws -> RuleSet = { try readRules(file, streams: streams) }
        switch try settings.value(options.store) {
        case .sqlite(let path): configuration.storeFolder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        case .clickHouse:
            load = { [load] in
                let rules = try load()
                try checkForServer(rules)
                return rules
            }
        case nil: break
        }
        _ = try load()
        configuration.loadRules = load
    }
}

/// Refuses rules that a collector with a store on a server cannot evaluate.
private func checkForServer(_ rules: RuleSet) throws {
    for rule in rules.rules {
        if case .health(.disk) = rule.condition {
            throw CommandFailure(
                "the rule '\(rule.name)' is about the disk of the store, but a ClickHouse store is on its server: remove "
                    + "the rule, and check the disk of the server there")
        }
    }
}

/// Calls a function for each SIGHUP.
struct ReloadSignals: Service {
    private let signals: UnixSignalsSequence
    private let reload: @Sendable () -> Void

    /// Starts to handle the signal.
    init(_ reload: @escaping @Sendable () -> Void) async {
        signals = await UnixSignalsSequence(trapping: .sighup)
        self.reload = reload
    }

    func run() async throws {
        for await _ in signals.cancelOnGracefulShutdown() { reload() }
    }
}
