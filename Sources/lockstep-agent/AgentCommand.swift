import ArgumentParser
import FoundationEssentials
import LockstepAgent
import LockstepCommandLine
import LockstepModel
import LockstepSensors
import LockstepSupervision
import LockstepWire
import Logging
import ServiceLifecycle

@main
struct AgentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep-agent",
        abstract: "Reads this device's sensors and publishes them, losing nothing on the way.",
        discussion: """
            Every option is also a setting: --backlog-rate is LOCKSTEP_BACKLOG_RATE in the environment and \
            'backlog-rate: …' in the YAML file. The command line comes before the environment, the environment before \
            the file, the file before the default. In the environment, sources are separated by commas; in the \
            file they are a list.

            SOURCES
              iio                  this machine's motion sensors and step counter;
                                   'lockstep-agent sensors' lists them
              gpsd[://host:port]   fixes of a GPS receiver, from gpsd
              replay:FILE.csv      a recording: t_us,x_g,y_g,z_g and the like
              simulate[:seed]      a walking body: motion sensors and location

            DERIVED STREAMS, where there is an accelerometer
              motion/device        attitude, gravity, user acceleration, …
              steps                with distance, pace and cadence
              orientation          portrait, faceUp, …

            SIGNALS
              SIGTERM, SIGINT      end: flush, say 'terminated', within 5 s;
                                   a second one ends it at once
              SIGUSR1              go to background: motion pauses, steps go on,
                                   location after 500 m
              SIGUSR2              come back to the foreground

            EXAMPLE
              lockstep-agent --broker mqtt://broker.local --source iio --source gpsd
            """,
        version: "lockstep-agent \(lockstepVersion)", subcommands: [SensorsCommand.self])

    @OptionGroup(title: "Broker") var broker: BrokerOptions
    @OptionGroup(title: "Sources") var selection: SourceSelection
    @OptionGroup(title: "Rates") var rateOptions: RateOptions
    @OptionGroup(title: "Derived streams") var derivedOptions: DerivedStreamOptions
    @OptionGroup(title: "Logging") var log: LogOptions

    @Option(help: "YAML file with settings.")
    var config: String?

    @Option(help: "The set of devices that this one belongs to (default: default).")
    var group: String?

    @Option(help: "This device's id (default: the host name).")
    var device: String?

    @Option(help: "First levels of all topics (default: lockstep).")
    var root: String?

    @Option(help: "File of the durable queue (default: ~/.local/state/lockstep/GROUP-DEVICE.outbox).")
    var outbox: String?

    @Option(help: "Payload bytes that the outbox holds before it drops the oldest, such as 256M (default: 256M).")
    var outboxSize: String?

    @Option(help: "How long the outbox keeps a batch, such as 7d (default: 7d).")
    var outboxAge: String?

    @Option(help: "Whose word takes a batch out of the outbox: collector or broker (default: collector).")
    var ack: String?

    @Option(help: "How long samples are collected for a message, such as 250ms (default: 1s).")
    var window: String?

    @Option(help: "Samples in a message, at the most (default: 1000).")
    var batch: String?

    @Option(
        help: """
            How batches are written: json, which anybody can read, or cbor, in under a quarter of the bytes \
            (default: json).
            """)
    var encoding: String?

    @Option(help: "Bytes of backlog sent a second, beside live data (default: 256K).")
    var backlogRate: String?

    @Option(help: "Time between presences that say nothing new (default: 30s).")
    var heartbeat: String?

    @Flag(help: "Keep every accepted batch in the outbox file, for 'lockstep verify --journal'.")
    var journal = false

    static let names =
        BrokerOptions.names + SourceSelection.names + RateOptions.names + DerivedStreamOptions.names + LogOptions.names
        + [
            "group", "device", "root", "outbox", "outbox-size", "outbox-age", "ack", "window", "batch", "encoding",
            "backlog-rate", "heartbeat", "journal",
        ]

    func run() async throws {
        let settings = try Settings(names: Self.names, file: config)
        let configuration = try agentConfiguration(settings)
        let logger = try log.makeLogger("lockstep-agent", settings)
        let agent = Agent(configuration, logger: logger, supervisor: Supervisor())
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(
                        service: agent, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup),
                    .init(service: await PhaseSignals(agent: agent)),
                    .init(service: await EndSignals(), successTerminationBehavior: .gracefullyShutdownGroup),
                ],
                logger: .quiet))
        try await group.run()
    }

    private func agentConfiguration(_ settings: Settings) throws -> AgentConfiguration {
        let address = DeviceAddress(
            group: try settings.value("group", group) { try GroupID(validating: $0) } ?? .standard,
            device: try settings.value("device", device) { try DeviceID(validating: $0) } ?? hostDevice())
        let coalescing = try coalescing(settings)
        var configuration = AgentConfiguration(
            address: address, broker: try broker.address(settings),
            sources: try selection.sources(settings, gathering: coalescing.gathering),
            outboxPath: try settings.value("outbox", outbox) { $0 } ?? defaultOutbox(for: address))
        configuration.coalescing = coalescing
        configuration.rates = try rateOptions.rates(settings)
        configuration.derived = try derivedOptions.options(settings)
        configuration.tls = try broker.tls(settings)
        configuration.mqttVersion = try broker.version(settings)
        if let seconds = try broker.keepAlive(settings) { configuration.keepAlive = seconds }
        if let root = try settings.value("root", root, parse: { try TopicRoot($0) }) { configuration.root = root }
        configuration.root.streams = settings.streams
        if let bytes = try settings.value("outbox-size", outboxSize, parse: byteCount) {
            configuration.outboxLimits.bytes = Int64(bytes)
        }
        if let age = try settings.value("outbox-age", outboxAge, parse: span) { configuration.outboxLimits.age = age }
        if let encoding = try settings.value("encoding", encoding, parse: { try choice($0, of: BatchEncoding.self) }) {
            configuration.encoding = encoding
        }
        if let rate = try settings.value("backlog-rate", backlogRate, parse: byteCount) {
            configuration.backlogRate = rate
        }
        if let heartbeat = try settings.value("heartbeat", heartbeat, parse: span) {
            configuration.heartbeat = heartbeat
        }
        if let ack = try settings.value(
            "ack", ack, parse: { try choice($0, of: AgentConfiguration.AcknowledgedBy.self) })
        {
            configuration.acknowledgedBy = ack
        }
        configuration.keepsJournal =
            try settings.value("journal", journal ? "true" : nil, parse: { try yesOrNo($0) }) ?? false
        return configuration
    }

    private func coalescing(_ settings: Settings) throws -> Coalescer.Limits {
        var limits = Coalescer.Limits()
        if let window = try settings.value("window", window, parse: span) { limits.window = window }
        if let samples = try settings.value("batch", batch, parse: { try wholeNumber($0, in: 1...10_000) }) {
            limits.samples = samples
        }
        return limits
    }
}
