import ArgumentParser
import FoundationEssentials
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

    @OptionGroup var connection: ConnectionOptions

    func run() throws {
        let settings = try connection.settings()
        let root = try connection.topicRoot(settings)
        let (link, broker) = try connection.link(settings, for: "forget")
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
        } catch let error as ExchangeError { throw CommandFailure(error.description.printable) }
    }

    private func address(
        of device: DeviceArgument, _ settings: Settings, _ root: TopicRoot
    ) throws -> DeviceAddress {
        let address = try connection.address(of: device, settings, root)
        try device.checkRemoval(of: address)
        return address
    }
}

/// Deletes the status of a collector or gateway that no longer runs.
struct ProgramRemoval: ForgetTask {
    /// The time in which the broker sends the retained status, in µs.
    static let readingTime: Int64 = 2_000_000
    /// The time to wait for the deletion, in µs.
    static let patience: Int64 = 10_000_000

    private struct Status {
        let isOffline: Bool
        let at: Timestamp
    }

    /// `collector` or `gateway`.
    private let kind: String
    /// The name as `GROUP/ID`.
    private let name: String
    private let topic: String
    private let root: TopicRoot
    let filters: [String]
    private var programs: [String: Status] = [:]
    private var hasDeleted = false
    private var isDeleted = false
    private var deadline: Int64 = 0

    init(collector: DeviceArgument, root: TopicRoot) {
        kind = "collector"
        name = "\(collector.address)"
        topic = root.topic(group: collector.address.group, collector: CollectorID(unchecked: "\(collector.device)"))
        filters = [root.collectorFilter]
        self.root = root
    }

    init(gateway: DeviceArgument, root: TopicRoot) {
        kind = "gateway"
        name = "\(gateway.address)"
        topic = root.topic(group: gateway.address.group, gateway: gateway.device)
        filters = [root.gatewayFilter]
        self.root = root
    }

    mutating func didSubscribe(at now: Moment) {
        hasDeleted = false
        deadline = now.boot + Self.readingTime
    }

    mutating func handle(topic: String, payload: Data, isRetained: Bool) {
        if topic == self.topic, payload.isEmpty, hasDeleted { isDeleted = true }
        switch try? root.parse(topic) {
        case .collector(let group, let id) where kind == "collector":
            let health = payload.isEmpty ? nil : try? CollectorHealth.decode(payload)
            programs["\(group)/\(id)"] = health.map { Status(isOffline: $0.status == .offline, at: $0.at) }
        case .gateway(let group, let id):
            let health = payload.isEmpty ? nil : try? GatewayHealth.decode(payload)
            programs["\(group)/\(id)"] = health.map { Status(isOffline: $0.status == .offline, at: $0.at) }
        default: break
        }
    }

    mutating func didRefuse(_ topic: String, _ reason: String) throws {
        throw CommandFailure("\(reason): \(ExchangeError.advice(toWrite: topic))")
    }

    mutating func takeMessages(at now: Moment) throws -> [MQTTMessage] {
        guard !hasDeleted else {
            guard now.boot >= deadline else { return [] }
            throw CommandFailure("the broker has not accepted the deletion: \(ExchangeError.advice(toWrite: topic))")
        }
        guard let status = programs[name] else {
            guard now.boot >= deadline else { return [] }
            let known = programs.keys.sorted().joined(separator: ", ")
            throw CommandFailure(
                "no \(kind) '\(name)' has reported to this broker"
                    + (known.isEmpty ? "" : "; those that have are: \(known)"))
        }
        guard status.isOffline || !ReportAge.isRecent(status.at, at: now.wall) else {
            throw CommandFailure("the \(kind) \(name) is running: stop it first")
        }
        hasDeleted = true
        deadline = now.boot + Self.patience
        return [MQTTMessage(topic: topic, payload: [], qos: .atLeastOnce, isRetained: true)]
    }

    func result() -> String? {
        guard isDeleted else { return nil }
        let rest = kind == "collector" ? "Its store" : "Its outbox"
        return "The \(kind) \(name) is forgotten. \(rest) is not changed. It is listed again if it is started again."
    }
}
