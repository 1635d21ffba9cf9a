import ArgumentParser
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Live states and rates, from the broker.",
        discussion: """
            On a terminal a table, drawn anew each second. In a pipe one line an event: a state, a presence that says \
            something new, a collector's health, and every ten seconds the rates.
            """)

    @OptionGroup var broker: BrokerOptions

    @Option(help: "YAML file with settings.")
    var config: String?

    @Option(help: "First levels of all topics (default: lockstep).")
    var root: String?

    @Option(help: "Only devices of this group.", transform: groupID)
    var group: GroupID?

    @Option(help: "Only this device.", transform: deviceID)
    var device: DeviceID?

    @Option(help: "End after so many seconds.")
    var seconds: Int?

    @Flag(help: "Events as JSON, one object a line.")
    var json = false

    func run() throws {
        let settings = try Settings(names: BrokerOptions.names + ["root"], file: config, ignoresOthers: true)
        let root = try settings.value("root", root) { try TopicRoot($0) } ?? .standard
        let address = try broker.address(settings)
        let tls = try broker.tls(settings)
        let wakeup = Wakeup()
        let interrupt = Interrupt(wakeup: wakeup)
        let id = "lockstep-watch-\(Epoch.random())"
        let link = BrokerLink(wakeup: wakeup, version: try broker.version(settings)) { version in
            MQTTOptions(address: address, clientID: id, version: version, tls: tls)
        }
        let session = WatchSession(
            link: link, address: address, filter: root.filter(group: group),
            model: WatchModel(root: root, device: device),
            lines: json || !Terminal.output.isInteractive ? WatchLines(isJSON: json) : nil)
        try session.run(until: seconds.map { .now + .seconds($0) }, interrupt)
    }
}
