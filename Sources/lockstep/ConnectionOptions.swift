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
    @OptionGroup var broker: BrokerOptions
    @OptionGroup var file: SettingsFile
    @OptionGroup var topics: Options<TopicSettings>

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
    func link(
        _ settings: Settings, for purpose: String, wakeup: Wakeup
    ) throws -> (link: BrokerLink, address: BrokerAddress) {
        let address = try broker.address(settings)
        let tls = try broker.tls(settings)
        let id = MQTTOptions.clientID(purpose, Epoch.random().rawValue)
        let keepAlive = try broker.keepAlive(settings) ?? 15
        let link = BrokerLink(wakeup: wakeup, version: try broker.version(settings)) { version in
            MQTTOptions(address: address, clientID: id, keepAlive: keepAlive, version: version, tls: tls)
        }
        return (link, address)
    }

    /// Whether there is a certificate of the client, but no user name.
    func hasOnlyCertificate(_ settings: Settings) throws -> Bool {
        try broker.tls(settings).certificateFile != nil && broker.address(settings).user == nil
    }
}
