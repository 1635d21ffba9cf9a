import ArgumentParser
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

/// The options of a command that connects to a broker.
struct ConnectionOptions: ParsableArguments {
    @OptionGroup var broker: BrokerOptions

    @Option(help: "YAML file with settings (default: the file named by LOCKSTEP_CONFIG, if set).")
    var config: String?

    @Option(help: "Topic prefix (default: lockstep).")
    var root: String?

    /// Reads the settings of the connection and of the command.
    /// - Parameter names: the names of the settings that only this command has.
    func settings(including names: [String] = []) throws -> Settings {
        try Settings(names: BrokerOptions.names + ["root", "streams"] + names, file: config, ignoresUnknownKeys: true)
    }

    /// Returns the topic prefix, with the streams that the settings declare.
    func topicRoot(_ settings: Settings) throws -> TopicRoot {
        var topicRoot = try settings.value("root", root) { try TopicRoot($0) } ?? .standard
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
