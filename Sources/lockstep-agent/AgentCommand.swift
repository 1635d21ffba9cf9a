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

/// The program `lockstep-agent`.
@main
struct AgentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep-agent",
        abstract: "Read the sensors of this device and publish their samples over MQTT without loss.",
        discussion: """
            Each option can also be set in the environment or in a YAML file: --backlog-rate is \
            LOCKSTEP_BACKLOG_RATE in the environment and 'backlog-rate: …' in the file. The command line overrides the \
            environment, and the environment overrides the file. An option that may be repeated is a list in the \
            file, and a comma-separated text in the environment.

            SOURCES
              iio                  motion sensors, barometer and step counter of this
                                   machine; list them with 'lockstep-agent sensors'
              battery              batteries of this machine
              gpsd[://host:port]   location from a GPS receiver
              replay:FILE.csv      a recording with columns such as t_us,x_g,y_g,z_g
              simulate[:seed]      a simulated walk: motion sensors, location,
                                   pressure and battery
              none                 nothing: deliver the samples in the outbox, and exit

            DERIVED STREAMS (published if their inputs are available)
              motion/device        attitude, gravity, user acceleration, …
              steps                steps, distance, pace and cadence
              orientation          portrait, faceUp, …
              altitude             altitude above the start, from air pressure
              heading              magnetic and true heading

            SIGNALS
              SIGTERM, SIGINT      publish pending samples and the phase
                                   'terminated', and exit within 5 s; another signal a
                                   second later exits at once
              SIGUSR1              enter the background phase, in which the rates of
                                   --background-rate apply
              SIGUSR2              return to the foreground phase

            EXAMPLE
              lockstep-agent --broker mqtt://broker.local --source iio --source gpsd
            """,
        version: "lockstep-agent \(lockstepVersion)", subcommands: [SensorsCommand.self])

    @OptionGroup(title: "Broker") var broker: BrokerOptions
    @OptionGroup(title: "Sources") var selection: SourceSelection
    @OptionGroup(title: "Rates") var rateOptions: RateOptions
    @OptionGroup(title: "Derived streams") var derivedOptions: DerivedStreamOptions
    @OptionGroup(title: "Logging") var log: LogOptions

    @Option(help: "YAML file with settings (default: the file named by LOCKSTEP_CONFIG, if set).")
    var config: String?

    @Option(help: "Group of this device (default: default).")
    var group: String?

    @Option(help: "Id of this device (default: the host name).")
    var device: String?

    @Option(help: "Topic prefix (default: lockstep).")
    var root: String?

    @Option(
        help: "Outbox: the file with unacknowledged samples (default: ~/.local/state/lockstep/GROUP-DEVICE.outbox)."
    )
    var outbox: String?

    @Option(help: "Maximum size of the outbox in bytes; above it, the oldest samples are dropped (default: 256M).")
    var outboxSize: String?

    @Option(help: "Maximum age of samples in the outbox; older samples are dropped (default: 7d).")
    var outboxAge: String?

    @Option(
        help: """
            Program whose acknowledgement removes samples from the outbox: collector, or broker for a system without \
            a collector (default: collector).
            """
    )
    var ack: String?

    @Option(help: "Time for which samples are collected in one message (default: 1s).")
    var window: String?

    @Option(help: "Maximum number of samples in a message (default: 1000).")
    var batch: String?

    @Option(
        help: """
            Encoding of samples: json, which is human-readable, or cbor, which takes less than a quarter of the size \
            (default: json).
            """)
    var encoding: String?

    @Option(
        help: """
            Maximum rate of backlog in bytes per second, in addition to the live data (default: 256K). Backlog is \
            data that is sent late or again.
            """)
    var backlogRate: String?

    @Option(help: "Interval between presence messages while nothing changes (default: 30s).")
    var heartbeat: String?

    @Flag(help: "Keep acknowledged samples in the outbox too, for 'lockstep verify --journal'.")
    var journal = false

    static let names =
        BrokerOptions.names + SourceSelection.names + RateOptions.names + DerivedStreamOptions.names + LogOptions.names
        + [
            "group", "device", "root", "outbox", "outbox-size", "outbox-age", "ack", "window", "batch", "encoding",
            "backlog-rate", "heartbeat", "journal",
        ]

    static func main() async { await runProgram() }

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
                    .init(service: await TerminationSignals(), successTerminationBehavior: .gracefullyShutdownGroup),
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
            sources: try selection.sources(settings, linger: coalescing.linger),
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
        if let age = try settings.value("outbox-age", outboxAge, parse: parseDuration) {
            configuration.outboxLimits.age = age
        }
        if let encoding = try settings.value("encoding", encoding, parse: { try choice($0, of: BatchEncoding.self) }) {
            configuration.encoding = encoding
        }
        if let rate = try settings.value("backlog-rate", backlogRate, parse: byteCount) {
            configuration.backlogRate = rate
        }
        if let heartbeat = try settings.value("heartbeat", heartbeat, parse: parseDuration) {
            configuration.heartbeat = heartbeat
        }
        if let ack = try settings.value(
            "ack", ack, parse: { try choice($0, of: AgentConfiguration.AcknowledgedBy.self) })
        {
            configuration.acknowledgedBy = ack
        }
        configuration.keepsJournal =
            try settings.value("journal", journal ? "true" : nil, parse: { try boolean($0) }) ?? false
        return configuration
    }

    private func coalescing(_ settings: Settings) throws -> Coalescer.Limits {
        var limits = Coalescer.Limits()
        if let window = try settings.value("window", window, parse: parseDuration) { limits.window = window }
        if let samples = try settings.value("batch", batch, parse: { try wholeNumber($0, in: 1...10_000) }) {
            limits.samples = samples
        }
        return limits
    }
}
