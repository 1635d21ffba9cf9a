import ArgumentParser
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

/// The topics of a command that connects to a broker.
struct TopicSettings: SettingGroup {
    let root = Setting("root", "Topic prefix (default: lockstep).") { try TopicRoot($0) }
    let streams = Setting.streams
}

/// The options of a command that connects to a broker.
struct ConnectionOptions: ParsableArguments {
    @OptionGroup var topics: Options<TopicSettings>
    @OptionGroup var file: SettingsFile
    @OptionGroup var broker: BrokerOptions

    /// Reads the settings of the connection and of the command.
    /// - Parameter groups: the settings that only this command has.
    func settings(including groups: [any SettingGroup.Type] = []) throws -> Settings {
        try Settings(
            of: [BrokerSettings.self, TopicSettings.self] + groups, file: file.config, ignoresUnknownKeys: true)
    }

    /// Returns the topic prefix, with the streams that the settings declare.
    func topicRoot(_ settings: Settings) throws -> TopicRoot {
        var topicRoot = try settings.value(topics.root) ?? .standard
        topicRoot.streams = settings.streams
        return topicRoot
    }

    /// Creates a link with a unique client id. It does not connect yet.
    /// - Parameter purpose: the part of the client id that identifies the command in the broker's log.
    func link(_ settings: Settings, for purpose: String) throws -> (link: BrokerLink, address: BrokerAddress) {
        let broker = try broker.access(settings)
        let id = MQTTOptions.clientID(purpose, Epoch.random().rawValue)
        return (broker.link(clientID: id, wakeup: Wakeup()), broker.address)
    }

    /// Returns the devices whose state or presence the broker retains: those that an argument selects, or all if there are none
    /// or it is nil.
    /// Empty if the broker cannot be reached, or does not let this user read.
    func devices(named argument: DeviceArgument?, _ settings: Settings, _ root: TopicRoot) throws -> [DeviceAddress] {
        let (link, broker) = try link(settings, for: "devices")
        var known: Set<DeviceAddress> = []
        var levels = argument.map { "\($0.group?.rawValue ?? "+")/\($0.device)" } ?? "+/+"
        let exchange = BrokerExchange(
            link, broker, qos: .atMostOnce, awaitsRetained: true,
            filters: { [Channel.presence, .state].map { "\(root)/\(levels)/\($0.name)" } }
        ) { message in
            guard case .device(let address, _)? = try? root.parse(message.topic), !message.payload.isEmpty else {
                return
            }
            known.insert(address)
        }
        defer { exchange.close() }
        let deadline = ContinuousClock.now + .seconds(5)
        _ = try? exchange.wait(until: deadline) {
            if exchange.isReady, known.isEmpty, levels != "+/+" {
                levels = "+/+"
                try exchange.subscribe()
            }
            return exchange.isReady || exchange.connectionError != nil
        }
        return known.sorted()
    }

    /// Returns the device that an argument names, in whatever group it is; if the broker knows none, that of the default group.
    /// - Throws: ``CommandFailure`` if it knows several, or only others.
    func address(of argument: DeviceArgument, _ settings: Settings, _ root: TopicRoot) throws -> DeviceAddress {
        let known = try devices(named: argument, settings, root)
        return known.isEmpty
            ? argument.address : try argument.onlyAddress(among: known, option: "", place: "at this broker")
    }

    /// Whether there is a certificate of the client, but no user name.
    func hasOnlyCertificate(_ settings: Settings) throws -> Bool {
        try broker.tls(settings).certificateFile != nil && broker.address(settings).user == nil
    }
}
