import ArgumentParser
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

/// The options with which a command joins the clients of a broker.
struct ConnectionOptions: ParsableArguments {
    @OptionGroup var broker: BrokerOptions

    @Option(help: "YAML file with settings.")
    var config: String?

    @Option(help: "First levels of all topics (default: lockstep).")
    var root: String?

    /// - Parameter names: settings of the command itself.
    func settings(and names: [String] = []) throws -> Settings {
        try Settings(names: BrokerOptions.names + ["root", "streams"] + names, file: config, ignoresOthers: true)
    }

    func topicRoot(_ settings: Settings) throws -> TopicRoot {
        var topicRoot = try settings.value("root", root) { try TopicRoot($0) } ?? .standard
        topicRoot.streams = settings.streams
        return topicRoot
    }

    /// A link that is yet to connect, as a client of its own.
    /// - Parameter purpose: what the broker's log has in the client's id.
    func link(
        _ settings: Settings, for purpose: String, wakeup: Wakeup
    ) throws -> (link: BrokerLink, address: BrokerAddress) {
        let address = try broker.address(settings)
        let tls = try broker.tls(settings)
        let id = "lockstep-\(purpose)-\(Epoch.random())"
        let keepAlive = try broker.keepAlive(settings) ?? 15
        let link = BrokerLink(wakeup: wakeup, version: try broker.version(settings)) { version in
            MQTTOptions(address: address, clientID: id, keepAlive: keepAlive, version: version, tls: tls)
        }
        return (link, address)
    }
}
