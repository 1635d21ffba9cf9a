import ArgumentParser
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepSystem
import LockstepWire

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show the states and rates of all devices live.",
        discussion: """
            On a terminal, shows a table that is updated every second. Otherwise, prints a line for each change of a \
            device's state, of its presence (the report of its agent) or of a collector's health, and prints the \
            rates every ten seconds. With --batches, also prints a line for each batch. With --batches and --json, \
            that line contains the samples, in JSON even if they were sent as CBOR.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(help: "Only devices of this group.", transform: groupID)
    var group: GroupID?

    @Option(
        help: "Only this device, as [GROUP/]DEVICE; without a group, in any group.",
        transform: DeviceArgument.init(parsing:))
    var device: DeviceArgument?

    @Option(help: "Exit after this number of seconds.")
    var seconds: Int?

    @OptionGroup var zone: ZoneOptions

    @Flag(help: "Print lines instead of a table, each with one JSON object.")
    var json = false

    @Flag(help: "Print lines instead of a table, including one for each batch of samples.")
    var batches = false

    func run() throws {
        try device?.check(group: group)
        let settings = try connection.settings()
        let root = try connection.topicRoot(settings)
        if let device, case let known = try connection.devices(named: device, settings, root), !known.isEmpty,
            !known.contains(where: device.selects)
        {
            Terminal.writeError(
                "no device '\(device)' at this broker yet\(Suggestion.text(for: device, among: known))")
        }
        let wakeup = Wakeup()
        let interrupt = Interrupt(wakeup: wakeup)
        let (link, address) = try connection.link(settings, for: "watch", wakeup: wakeup)
        let session = WatchSession(
            link: link, address: address, filter: root.filter(group: group ?? device?.group),
            model: WatchModel(root: root, device: device, reportsBatches: batches),
            lines: json || batches || !Terminal.output.isInteractive ? WatchLines(isJSON: json) : nil)
        try session.run(until: seconds.map { .now + .seconds($0) }, interrupt)
    }
}
