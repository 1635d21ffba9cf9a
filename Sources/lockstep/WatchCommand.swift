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
            something new, a collector's health, and every ten seconds the rates. With --batches also the samples: \
            with --json each batch whole, in JSON whatever it was sent in.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(help: "Only devices of this group.", transform: groupID)
    var group: GroupID?

    @Option(help: "Only this device.", transform: deviceID)
    var device: DeviceID?

    @Option(help: "End after so many seconds.")
    var seconds: Int?

    @Flag(help: "Events as JSON, one object a line.")
    var json = false

    @Flag(help: "A line for each batch of samples.")
    var batches = false

    func run() throws {
        let settings = try connection.settings()
        let root = try connection.topicRoot(settings)
        let wakeup = Wakeup()
        let interrupt = Interrupt(wakeup: wakeup)
        let (link, address) = try connection.link(settings, for: "watch", wakeup: wakeup)
        let session = WatchSession(
            link: link, address: address, filter: root.filter(group: group),
            model: WatchModel(root: root, device: device, tellsBatches: batches),
            lines: json || batches || !Terminal.output.isInteractive ? WatchLines(isJSON: json) : nil)
        try session.run(until: seconds.map { .now + .seconds($0) }, interrupt)
    }
}
