import ArgumentParser
import FoundationEssentials
import LockstepAgent
import LockstepCommandLine
import LockstepMQTT
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
              replay:FILE          a recording: CSV with columns such as t_us,x_g,y_g,z_g;
                                   what 'lockstep export' wrote as csv, ndjson or
                                   mcap; GPX; MCAP with JSON
              simulate[:seed][:motion]
                                   a simulated person: motion sensors, location,
                                   pressure and battery; the motion is walk, shake,
                                   turn, drive or fall (default: walk)
              none                 nothing: deliver the samples in the outbox, and exit

            DERIVED STREAMS (published if their inputs are available)
              motion/device        attitude, gravity, user acceleration, …
              steps                steps, distance, pace and cadence
              floors               floors climbed, from air pressure and steps
              activity             stationary, walking, running, cycling, automotive
              orientation          portrait, faceUp, …
              altitude             altitude above the start, from air pressure
              heading              magnetic and true heading

            SIGNALS
              SIGTERM, SIGINT,
              SIGHUP               publish pending samples and the phase
                                   'terminated', and exit within 5 s; another signal a
                                   second later exits at once
              SIGUSR1              enter the background phase, in which the rates of
                                   --background-rate apply
              SIGUSR2              return to the foreground phase

            EXAMPLE
              lockstep-agent --broker mqtt://broker.local --source iio --source gpsd
            """,
        version: "lockstep-agent \(lockstepVersion)", subcommands: [SensorsCommand.self])

    @OptionGroup(title: "Agent") var options: Options<AgentSettings>
    @OptionGroup(title: "Sources") var selection: Options<SourceSettings>
    @OptionGroup(title: "Rates") var rateOptions: Options<RateSettings>
    @OptionGroup(title: "Derived streams") var derivedOptions: Options<DerivedStreamSettings>
    @OptionGroup(title: "Logging") var log: LogOptions
    @OptionGroup(title: "Settings file") var file: SettingsFile
    @OptionGroup(title: "Broker") var broker: BrokerOptions

    static func main() async { await runProgram() }

    func run() async throws {
        let settings = try Settings(
            of: [
                BrokerSettings.self, SourceSettings.self, RateSettings.self, DerivedStreamSettings.self,
                LogSettings.self, AgentSettings.self,
            ], file: file.config)
        let configuration = try agentConfiguration(settings)
        let logger = try log.makeLogger("lockstep-agent", settings)
        let agent = Agent(configuration, logger: logger, supervisor: Supervisor())
        try await runServices([agent], helpers: [PhaseSignals(agent: agent)])
    }

    private func agentConfiguration(_ settings: Settings) throws -> AgentConfiguration {
        let address = DeviceAddress(
            group: try settings.value(options.group) ?? .standard,
            device: try settings.value(options.device) ?? hostDevice())
        var coalescing = Coalescer.Limits()
        try settings.assign(options.window, to: &coalescing.window)
        try settings.assign(options.batch, to: &coalescing.samples)
        let access = try broker.access(settings)
        var configuration = AgentConfiguration(
            address: address, broker: access.address,
            sources: try selection.sources(settings, linger: coalescing.linger),
            outboxPath: try settings.value(options.outbox) ?? defaultOutbox(for: address))
        configuration.coalescing = coalescing
        configuration.rates = try rateOptions.rates(settings)
        configuration.derived = try derivedOptions.options(settings)
        configuration.broker = access
        try settings.assign(options.root, to: &configuration.root)
        configuration.root.streams = settings.streams
        try settings.assign(options.outboxSize, to: &configuration.outboxLimits.bytes)
        try settings.assign(options.outboxAge, to: &configuration.outboxLimits.age)
        try settings.assign(options.encoding, to: &configuration.encoding)
        try settings.assign(options.backlogRate, to: &configuration.backlogRate)
        try settings.assign(options.heartbeat, to: &configuration.heartbeat)
        try settings.assign(options.ack, to: &configuration.acknowledgedBy)
        configuration.keepsJournal = try settings.isOn(options.journal)
        return configuration
    }
}

/// Sets the phase on signals: SIGUSR1 for background, SIGUSR2 for foreground.
struct PhaseSignals: Service {
    private let agent: Agent
    private let signals: UnixSignalsSequence

    /// Traps the signals. Call it before the agent runs: an untrapped signal ends the process.
    init(agent: Agent) async {
        self.agent = agent
        signals = await UnixSignalsSequence(trapping: .sigusr1, .sigusr2)
    }

    func run() async throws {
        for await signal in signals.cancelOnGracefulShutdown() {
            agent.setPhase(signal == .sigusr1 ? .background : .foreground, reason: "signal")
        }
    }
}
