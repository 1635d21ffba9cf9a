import ArgumentParser
import LockstepCommandLine
import LockstepLive
import LockstepMQTT
import LockstepModel
import LockstepWire

struct ForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Remove a device, collector or gateway that no longer exists.",
        discussion: """
            A forgotten device is no longer listed by 'lockstep devices', the web page, its metrics, 'lockstep doctor' \
            and 'lockstep verify', nor in Home Assistant. Its samples stay in the store and can be queried and exported \
            as before. If the device sends again, it is listed again.

            The collectors of the device carry this out, so one must be running, and the device must be offline for all \
            of them. The command waits up to 10 s for the answers of all that run and collect its group. A \
            collector or gateway must be stopped; only its status is deleted, not its store or outbox.

            EXAMPLES
              lockstep forget lab/arm-left
              lockstep forget --collector main
              lockstep forget --gateway phones
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(
        help: "Device, as [GROUP/]DEVICE; without a group, in the group 'default'.",
        transform: DeviceArgument.init(parsing:))
    var device: DeviceArgument?

    @Option(
        help: ArgumentHelp("Collector, as [GROUP/]ID, as 'lockstep doctor' names it.", valueName: "id"),
        transform: DeviceArgument.init(parsing:))
    var collector: DeviceArgument?

    @Option(
        help: ArgumentHelp("Gateway, as [GROUP/]ID, as 'lockstep doctor' names it.", valueName: "id"),
        transform: DeviceArgument.init(parsing:))
    var gateway: DeviceArgument?

    func run() throws {
        let settings = try connection.settings()
        let root = try connection.topicRoot(settings)
        let (link, broker) = try connection.link(settings, for: "forget", wakeup: Wakeup())
        let task: any ForgetTask =
            switch (device, collector, gateway) {
            case (let device?, nil, nil):
                DeviceRemoval(try address(of: device, settings, root), root: root)
            case (nil, let collector?, nil): ProgramRemoval(collector: collector, root: root)
            case (nil, nil, let gateway?): ProgramRemoval(gateway: gateway, root: root)
            default: throw CommandFailure("name one device, or use one of --collector and --gateway")
            }
        do {
            Terminal.output.write(try ForgetSession(link: link, broker: broker, task: task).run() + "\n")
        } catch let error as ForgetError { throw CommandFailure(error.description.printable) }
    }

    private func address(
        of device: DeviceArgument, _ settings: Settings, _ root: TopicRoot
    ) throws -> DeviceAddress {
        let address = try connection.address(of: device, settings, root)
        try device.checkRemoval(of: address)
        return address
    }
}
