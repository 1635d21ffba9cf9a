import ArgumentParser
import FoundationEssentials
import LockstepAgent
import LockstepCommandLine
import LockstepModel
import LockstepSensors
import LockstepWire
import Logging
import ServiceLifecycle
import UnixSignals

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
              simulate[:seed]       a walking body: accelerometer, gyroscope, magnetometer, location
              replay:FILE.csv       a recording: t_us,x_g,y_g,z_g and the like
              gpsd[://host:port]    fixes of a GPS receiver, from gpsd

            SIGNALS
              SIGTERM, SIGINT       end: flush, say 'terminated'
              SIGUSR1               go to background: motion pauses, steps and location go on
              SIGUSR2               come back to the foreground

            EXAMPLE
              lockstep-agent --broker mqtt://broker.local --device arm-left --source gpsd --source simulate:7
            """,
        version: "lockstep-agent \(lockstepVersion)")

    @OptionGroup(title: "Broker") var broker: BrokerOptions
    @OptionGroup(title: "Logging") var log: LogOptions

    @Option(help: "YAML file with settings.")
    var config: String?

    @Option(help: "The set of devices that this one belongs to (default: default).")
    var group: String?

    @Option(help: "This device's id (default: the host name).")
    var device: String?

    @Option(help: "First levels of all topics (default: lockstep).")
    var root: String?

    @Option(help: "Where samples come from; may be repeated.")
    var source: [String] = []

    @Option(help: "How fast recordings are played: a factor, or max (default: 1).")
    var speed: String?

    @Option(
        help: """
            Timestamps of recordings and fixes: now (the agent's time line), or own (their own times) (default: now).
            """)
    var stamp: String?

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

    @Option(help: "Bytes of backlog sent a second, beside live data (default: 256K).")
    var backlogRate: String?

    @Option(help: "Time between presences that say nothing new (default: 30s).")
    var heartbeat: String?

    @Flag(help: "Keep every accepted batch in the outbox file, for 'lockstep verify --journal'.")
    var journal = false

    static let names =
        BrokerOptions.names + LogOptions.names + [
            "group", "device", "root", "source", "speed", "stamp", "outbox", "outbox-size", "outbox-age", "ack",
            "window", "batch", "backlog-rate", "heartbeat", "journal",
        ]

    func run() async throws {
        let settings = try Settings(names: Self.names, file: config)
        let configuration = try agentConfiguration(settings)
        let logger = try log.makeLogger("lockstep-agent", settings)
        let agent = Agent(configuration, logger: logger)
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(
                        service: agent, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup),
                    .init(service: PhaseSignals(agent: agent)),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: .quiet))
        try await group.run()
    }

    private func agentConfiguration(_ settings: Settings) throws -> AgentConfiguration {
        let address = DeviceAddress(
            group: try settings.value("group", group) { try GroupID(validating: $0) } ?? .standard,
            device: try settings.value("device", device) { try DeviceID(validating: $0) } ?? hostDevice())
        var configuration = AgentConfiguration(
            address: address, broker: try broker.address(settings), sources: try sources(settings),
            outboxPath: try settings.value("outbox", outbox) { $0 } ?? defaultOutbox(for: address))
        configuration.tls = try broker.tls(settings)
        configuration.mqttVersion = try broker.version(settings)
        if let root = try settings.value("root", root, parse: { try TopicRoot($0) }) { configuration.root = root }
        if let bytes = try settings.value("outbox-size", outboxSize, parse: byteCount) {
            configuration.outboxLimits.bytes = Int64(bytes)
        }
        if let age = try settings.value("outbox-age", outboxAge, parse: span) { configuration.outboxLimits.age = age }
        if let window = try settings.value("window", window, parse: span) { configuration.coalescing.window = window }
        if let samples = try settings.value("batch", batch, parse: { try wholeNumber($0, in: 1...10_000) }) {
            configuration.coalescing.samples = samples
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

    private func sources(_ settings: Settings) throws -> [any SensorSource] {
        var options = SourceOptions()
        if let speed = try settings.value("speed", speed, parse: replaySpeed) { options.speed = speed }
        if let stamping = try settings.value("stamp", stamp, parse: { try choice($0, of: Stamping.self) }) {
            options.stamping = stamping
        }
        let sources = try settings.values("source", source) { try SensorSources.make($0, options: options) }
        guard !sources.isEmpty else {
            throw CommandFailure("no source: say where samples come from, with --source \(SensorSources.forms)")
        }
        let names = sources.map(\.name)
        if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
            throw CommandFailure("the source \(twice) is named twice")
        }
        return sources
    }
}
