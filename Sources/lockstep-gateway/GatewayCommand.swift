import ArgumentParser
import LockstepAgent
import LockstepCommandLine
import LockstepGateway
import LockstepMQTT
import LockstepModel
import LockstepWire
import Logging
import ServiceLifecycle

@main
struct GatewayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep-gateway",
        abstract: "Translate the messages of phones and other foreign devices, and deliver them like an agent.",
        discussion: """
            Each option can also be set in the environment or in a YAML file: --max-payload is \
            LOCKSTEP_MAX_PAYLOAD in the environment and 'max-payload: …' in the file. The command line overrides the \
            environment, and the environment overrides the file. An option that may be repeated is a list in the \
            file, and a comma-separated text in the environment.

            A message is acknowledged (PUBACK, or HTTP 2xx) when its samples are in the outbox, on disk.

            SENDERS
              The section 'map' of the file names the known senders and their
              devices:

                map:
                  owntracks/alice/phone: family/alice

              With --accept any, other senders become devices of --group: the user
              alice with the device phone becomes alice-phone.

            SIGNALS
              SIGTERM, SIGINT,
              SIGHUP            write and publish pending samples, and exit;
                                another signal a second later exits at once

            EXAMPLES
              lockstep-gateway --broker mqtt://localhost --outbox gateway.db --accept any
              lockstep-gateway --broker mqtt://localhost --outbox gateway.db \\
                  --listen 0.0.0.0:8443 --users-file users \\
                  --server-cert-file server.pem --server-key-file server.key
            """,
        version: "lockstep-gateway \(lockstepVersion)")

    @OptionGroup(title: "Gateway") var options: Options<GatewaySettings>
    @OptionGroup(title: "HTTP") var server: Options<ServerSettings>
    @OptionGroup(title: "Formats") var formats: Options<FormatSettings>
    @OptionGroup(title: "Home Assistant") var homeAssistant: Options<HomeAssistantSettings>
    @OptionGroup(title: "Sparkplug B") var sparkplug: Options<SparkplugSettings>
    @OptionGroup(title: "Phyphox") var phyphox: Options<PhyphoxSettings>
    @OptionGroup(title: "Logging") var log: LogOptions
    @OptionGroup(title: "Settings file") var file: SettingsFile
    @OptionGroup(title: "Broker") var broker: BrokerOptions

    static func main() async { await runProgram() }

    func run() async throws {
        let settings = try Settings(
            of: [
                BrokerSettings.self, LogSettings.self, GatewaySettings.self, ServerSettings.self, FormatSettings.self,
                HomeAssistantSettings.self, SparkplugSettings.self, PhyphoxSettings.self,
            ], file: file.config)
        var configuration = try gatewayConfiguration(settings)
        let phones = try phyphox.phones(settings, &configuration.mapping)
        let serverConfiguration = try server.configuration(settings, maxPayload: configuration.maxPayload)
        // Before the gateway connects: it would take over the session of a gateway that is running, and then end.
        try await serverConfiguration?.checkListener()
        let logger = try log.makeLogger("lockstep-gateway", settings)
        let gateway = Gateway(configuration, logger: logger, supervisor: Supervisor())
        var services: [any Service] = [gateway]
        if let serverConfiguration {
            raiseDescriptorLimit()
            services.append(
                GatewayServer(serverConfiguration, gateway: gateway, adapters: configuration.adapters, logger: logger))
        }
        if let bridge = try homeAssistant.configuration(settings, configuration) {
            services.append(HomeAssistantBridge(bridge, logger: logger))
        }
        if let host = try sparkplug.host(settings, configuration) {
            services.append(SparkplugHost(host, gateway: gateway, logger: logger))
        }
        if let edge = try sparkplug.edge(settings, configuration) {
            services.append(SparkplugEdge(edge, logger: logger))
        }
        services += phones.map { PhyphoxPoller($0, gateway: gateway, logger: logger) }
        try await runServices(services)
    }

    private func gatewayConfiguration(_ settings: Settings) throws -> GatewayConfiguration {
        guard let path = try settings.value(options.outbox) else {
            throw CommandFailure("no outbox specified: use --outbox PATH")
        }
        let access = try broker.access(settings)
        var configuration = GatewayConfiguration(
            broker: access.address, adapters: try formats.adapters(settings), outboxPath: path)
        configuration.version = lockstepVersion
        configuration.serverCertificateFile = try server.certificate.files(settings)?.certificateFile
        configuration.broker = access
        if let id = try settings.value(options.id) { configuration.id = id.rawValue }
        try settings.assign(options.root, to: &configuration.root)
        configuration.root.streams = settings.streams
        configuration.mapping = try mapping(settings)
        try settings.assign(options.outboxSize, to: &configuration.outboxSize)
        try settings.assign(options.encoding, to: &configuration.encoding)
        try settings.assign(options.maxPayload, to: &configuration.maxPayload)
        try settings.assign(options.maxDevices, to: &configuration.maxDevices)
        try settings.assign(options.maxUserDevices, to: &configuration.maxUserDevices)
        try settings.assign(options.maxFuture, to: &configuration.maxFuture)
        for (format, limit) in try settings.values(options.silence) {
            configuration.silence[format] = SilenceLimits(all: limit)
        }
        configuration.sharesFriends = try settings.isOn(options.friends)
        try settings.assign(options.backlogRate, to: &configuration.backlogRate)
        return configuration
    }

    private func mapping(_ settings: Settings) throws -> DeviceMapping {
        var mapping = DeviceMapping()
        mapping.acceptsAny = try settings.value(options.accept) ?? false
        try settings.assign(options.group, to: &mapping.group)
        try settings.assign(options.joinGroup, to: &mapping.claimedGroup)
        guard let (section, file) = settings.section(options.map) else { return mapping }
        guard case .mapping(let pairs) = section.content else {
            throw CommandFailure("\(file):\(section.line): 'map' needs lines of the form 'SENDER: GROUP/DEVICE'")
        }
        for pair in pairs {
            do {
                guard let sender = pair.key.scalar, let address = pair.value.scalar else {
                    throw CommandFailure("use 'SENDER: GROUP/DEVICE'")
                }
                mapping.entries[sender] = try DeviceMapping.address(address)
            } catch {
                throw CommandFailure("\(file):\(pair.key.line): map: \(error)")
            }
        }
        return mapping
    }
}
