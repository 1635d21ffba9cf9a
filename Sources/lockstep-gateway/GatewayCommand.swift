import ArgumentParser
import LockstepAgent
import LockstepCommandLine
import LockstepGateway
import LockstepModel
import LockstepSupervision
import LockstepWire
import Logging
import ServiceLifecycle

/// The program `lockstep-gateway`.
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
              SIGTERM, SIGINT   write and publish pending samples, and exit;
                                another signal a second later exits at once

            EXAMPLES
              lockstep-gateway --broker mqtt://localhost --outbox gateway.db --accept any
              lockstep-gateway --broker mqtt://localhost --outbox gateway.db \\
                  --listen 0.0.0.0:8443 --token-file users \\
                  --tls-certificate server.pem --tls-key server.key
            """,
        version: "lockstep-gateway \(lockstepVersion)")

    @OptionGroup(title: "Broker") var broker: BrokerOptions
    @OptionGroup(title: "Logging") var log: LogOptions

    @Option(help: "YAML file with settings (default: the file named by LOCKSTEP_CONFIG, if set).")
    var config: String?

    @Option(help: "File that keeps all batches until they are acknowledged (required). It is created if necessary.")
    var outbox: String?

    @Option(help: "Maximum size of the outbox; above it, the oldest batches are dropped (default: 256M).")
    var outboxSize: String?

    @Option(help: "Id of this gateway; the broker keeps its session under this id (default: main).")
    var id: String?

    @Option(help: "Senders to accept: known, those in the section 'map', or any (default: known).")
    var accept: String?

    @Option(help: "Group of the devices of senders that are not in 'map' (default: default).")
    var group: String?

    @Option(help: "Group in which browsers may join that are not in 'map' (default: phones).")
    var joinGroup: String?

    @Option(help: "Topic prefix (default: lockstep).")
    var root: String?

    @Option(help: "Encoding of batches: json or cbor (default: json).")
    var encoding: String?

    @Option(help: "Maximum size of a foreign message in bytes (default: 1M).")
    var maxPayload: String?

    @Option(help: "Maximum number of devices; messages of further ones are refused (default: 10000).")
    var maxDevices: String?

    @Option(help: "Maximum number of devices that a user can create by HTTP (default: 100).")
    var maxUserDevices: String?

    @Option(help: "Maximum time that a sample may lie in the future (default: 12h).")
    var maxFuture: String?

    @Option(help: "Maximum rate of backlog of each device in bytes a second (default: 256K).")
    var backlogRate: String?

    @Option(
        help: """
            Time without messages after which a device counts as lost, in every phase: FORMAT=TIME, such as json=10m, \
            for the formats owntracks, sensorlogger, senml, json, join and phyphox. May be repeated.
            """)
    var silence: [String] = []

    @Flag(help: "Answer OwnTracks devices by HTTP with the positions and cards of the others of their group.")
    var friends = false

    @OptionGroup(title: "HTTP") var server: ServerOptions
    @OptionGroup(title: "Formats") var formats: FormatOptions
    @OptionGroup(title: "Home Assistant") var homeAssistant: HomeAssistantOptions
    @OptionGroup(title: "Sparkplug B") var sparkplug: SparkplugOptions
    @OptionGroup(title: "Phyphox") var phyphox: PhyphoxOptions

    static let names =
        BrokerOptions.names + LogOptions.names + FormatOptions.names + ServerOptions.names
        + HomeAssistantOptions.names + SparkplugOptions.names + PhyphoxOptions.names + [
            "outbox", "outbox-size", "id", "accept", "group", "join-group", "root", "encoding", "max-payload",
            "max-devices", "max-user-devices",
            "max-future", "silence", "backlog-rate", "friends", "streams",
        ]

    static func main() async { await runProgram() }

    func run() async throws {
        let settings = try Settings(
            names: Self.names, file: config, sections: ["map", SparkplugOptions.section] + FormatOptions.sections)
        var configuration = try gatewayConfiguration(settings)
        let phones = try phyphox.phones(settings, &configuration.mapping)
        let serverConfiguration = try server.configuration(settings, maximumPayload: configuration.maximumPayload)
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
        services.append(await TerminationSignals())
        let group = ServiceGroup(
            configuration: .init(
                services: services.map { service in
                    .init(
                        service: service, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup)
                }, logger: .quiet))
        try await group.run()
    }

    private func gatewayConfiguration(_ settings: Settings) throws -> GatewayConfiguration {
        guard let path = try settings.value("outbox", outbox, parse: { $0 }) else {
            throw CommandFailure("no outbox specified: use --outbox PATH")
        }
        var configuration = GatewayConfiguration(
            broker: try broker.address(settings), adapters: try formats.adapters(settings), outboxPath: path)
        configuration.version = lockstepVersion
        configuration.tls = try broker.tls(settings)
        configuration.serverCertificateFile = try server.certificate.files(settings)?.certificateFile
        configuration.mqttVersion = try broker.version(settings)
        if let seconds = try broker.keepAlive(settings) { configuration.keepAlive = seconds }
        if let id = try settings.value("id", id, parse: { try DeviceID(validating: $0) }) {
            configuration.id = id.rawValue
        }
        if let root = try settings.value("root", root, parse: { try TopicRoot($0) }) { configuration.root = root }
        configuration.root.streams = settings.streams
        configuration.mapping = try mapping(settings)
        if let bytes = try settings.value("outbox-size", outboxSize, parse: byteCount) {
            configuration.outboxSize = Int64(bytes)
        }
        if let encoding = try settings.value(
            "encoding", encoding, parse: { try choice($0, of: BatchEncoding.self) })
        {
            configuration.encoding = encoding
        }
        if let bytes = try settings.value("max-payload", maxPayload, parse: byteCount) {
            configuration.maximumPayload = bytes
        }
        if let limit = try settings.value("max-devices", maxDevices, parse: { try wholeNumber($0, in: 1...100_000) }) {
            configuration.maximumDevices = limit
        }
        if let limit = try settings.value(
            "max-user-devices", maxUserDevices, parse: { try wholeNumber($0, in: 1...100_000) })
        {
            configuration.maximumUserDevices = limit
        }
        if let future = try settings.value("max-future", maxFuture, parse: parseDuration) {
            configuration.maximumFuture = future
        }
        for (format, limit) in try settings.values("silence", silence, parse: Self.silence) {
            configuration.silence[format] = SilenceLimits(all: limit)
        }
        configuration.sharesFriends = try settings.value("friends", friends ? "true" : nil, parse: truth) ?? false
        if let rate = try settings.value("backlog-rate", backlogRate, parse: byteCount) {
            configuration.backlogRate = rate
        }
        return configuration
    }

    private static func silence(_ text: String) throws -> (format: String, limit: Int64) {
        let formats = ["owntracks", "sensorlogger", "senml", "json", "join", "phyphox"]
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, formats.contains(parts[0]) else {
            throw CommandFailure("'\(text)' is not FORMAT=TIME with one of \(formats.joined(separator: ", "))")
        }
        let limit = try parseDuration(parts[1])
        guard limit > 0 else { throw CommandFailure("the limit of \(parts[0]) must be more than 0") }
        return (parts[0], limit)
    }

    private func truth(_ text: String) throws -> Bool {
        guard let value = Bool(text) else { throw CommandFailure("'\(text)' is not one of true, false") }
        return value
    }

    private func mapping(_ settings: Settings) throws -> DeviceMapping {
        var mapping = DeviceMapping()
        mapping.acceptsAny =
            try settings.value("accept", accept) { text in
                guard ["known", "any"].contains(text) else {
                    throw CommandFailure("'\(text)' is not a choice of senders: use known or any")
                }
                return text == "any"
            } ?? false
        if let group = try settings.value("group", group, parse: { try GroupID(validating: $0) }) {
            mapping.group = group
        }
        if let group = try settings.value("join-group", joinGroup, parse: { try GroupID(validating: $0) }) {
            mapping.claimedGroup = group
        }
        guard let (section, file) = settings.section("map") else { return mapping }
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
