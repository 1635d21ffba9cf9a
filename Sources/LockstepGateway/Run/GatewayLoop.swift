import LockstepAgent
import LockstepMQTT
import LockstepModel
import LockstepSupervision
import LockstepWire
import Logging

/// The single thread of a gateway. A turn reads messages, commits their samples to the outbox, publishes them, and then
/// sends the PUBACKs of the messages.
final class GatewayLoop {
    /// The maximum number of foreign messages of one commit.
    static let readLimit = 2000
    /// The number of samples after which a turn reads no more messages.
    static let maxSamples = 50_000
    /// The maximum number of own messages without a PUBACK. MQTT has 65,535 message ids.
    static let maxInFlight = 10_000
    /// The maximum delay between an acknowledgement and the removal of its batches, in µs.
    static let removalDelay: Int64 = 2_000_000
    /// The delay from the subscription to the first backlog, in µs: retained acknowledgements arrive before.
    static let acknowledgementDelay: Int64 = 500_000
    /// The interval between two checks of the deliveries, in µs.
    static let checkInterval: Int64 = 50_000
    /// The maximum wait for acknowledgements at the end, in µs.
    static let shutdownLimit: Int64 = 1_500_000

    let configuration: GatewayConfiguration
    let inbox: GatewayInbox
    let logger: Logger
    let supervisor: Supervisor
    let outbox: GatewayOutbox
    let link: BrokerLink
    var intake: GatewayIntake
    /// The deliveries, by the index of the device.
    var deliveries: [DeviceDelivery] = []
    /// The index of the device of each topic of acknowledgements.
    var deviceOfAckTopic: [String: Int] = [:]
    /// The device of each own message without a PUBACK, by message id.
    var inFlight: [Int32: Int] = [:]
    /// The limit of the backlog of all devices on its way to the broker.
    var linkWindow = LinkWindow()
    /// The index of the device whose backlog comes first in the next check, so that the devices share the link.
    var nextBacklogDevice = 0
    /// Whether a message of this turn waits for its PUBACK.
    var hasUnacknowledged = false
    /// The requests that wait for the commit of this turn.
    var waiting: [(item: GatewayInbox.Item, receipt: RequestReceipt)] = []
    /// The session of the current connection, in µs since 1970.
    var session: Int64 = 0
    /// The earliest time for backlog, in µs of the boot clock.
    var backlogStart = Int64.max
    /// The time of the next check of the deliveries, in µs of the boot clock.
    var nextCheck: Int64 = 0
    /// The deadline for the removal of acknowledged batches, in µs of the boot clock; nil if there are none.
    var removalDeadline: Int64?
    /// The error of the last commit; nil if it succeeded.
    var outboxProblem: String?
    var certificates: CertificateWatch
    /// The time of the next health report, in µs of the boot clock.
    var nextHealth: Int64 = 0
    /// The devices whose presence the broker has acknowledged since the last commit.
    var published: Set<Int> = []
    /// The device and the presence of each own presence message without a PUBACK, by message id.
    var presencesInFlight: [Int32: (device: Int, presence: OutboxPresence)] = [:]
    /// The time of the next check for silent senders, in µs of the boot clock.
    var nextSilenceCheck: Int64 = 0
    /// The pause after another gateway has taken over the session.
    var takeoverPause = TakeoverPause()
    /// The time in which senders can be heard.
    var listening = ListeningTime()
    /// The time of the start.
    let started = Moment.now().wall
    /// The time of the start in µs of the boot clock.
    let startedAt = Moment.now().boot
    /// The number of accepted messages, of refused ones, and of parts left out of accepted ones, since the start.
    var accepted: Int64 = 0
    var refused: Int64 = 0
    var leftOut: Int64 = 0
    /// What was used up of the log entries about refused messages.
    var refusalLog = Allowance()
    /// The number of refused messages since the last such entry.
    var unloggedRefusals = 0

    /// The messages of topics that no format has.
    var unhandled = UnhandledMessages()

    /// - Throws: `OutboxError` if the outbox cannot be opened.
    init(
        _ configuration: GatewayConfiguration, inbox: GatewayInbox, wakeup: Wakeup, logger: Logger,
        supervisor: Supervisor
    ) throws {
        self.configuration = configuration
        certificates = CertificateWatch(tls: configuration.tls, serverFile: configuration.serverCertificateFile)
        self.inbox = inbox
        self.logger = logger
        self.supervisor = supervisor
        outbox = try GatewayOutbox(
            path: configuration.outboxPath, maxBytes: configuration.outboxSize, encoding: configuration.encoding,
            streams: configuration.root.streams)
        intake = GatewayIntake(configuration)
        link = BrokerLink(wakeup: wakeup, version: configuration.mqttVersion) { version in
            MQTTOptions(
                address: configuration.broker, clientID: MQTTOptions.clientID("gateway", configuration.id),
                keepsSession: true,
                keepAlive: configuration.keepAlive, will: Self.will(configuration), version: version,
                tls: configuration.tls)
        }
        link.onMessage = { [unowned self] message in receive(message) }
        link.mayConnect = { [unowned self] in Moment.now().boot >= takeoverPause.end }
        addDeliveries(
            heardAt: EarlierMessages.times(
                outbox.devices.indices.map { outbox.devices[$0].presence?.heardAt }, startingAt: started,
                boot: startedAt))
        inbox.earlierSparkplugSenders = outbox.devices.presentSenders(of: SparkplugNodes.formatName)
    }

    /// Runs until the gateway is stopped.
    func run() {
        logger.info(
            "gateway started",
            metadata: [
                "devices": "\(outbox.devices.count)", "outbox_bytes": "\(outbox.bytes)",
                "formats": "\(configuration.adapters.map(\.name).joined(separator: ","))",
            ])
        while !inbox.isStopping {
            supervisor.didTurn(summary)
            wait()
            turn()
        }
        supervisor.willStop()
        finish()
        logger.info("gateway stopped", metadata: ["accepted": "\(accepted)", "refused": "\(refused)"])
    }

    private func wait() {
        guard inbox.isEmpty else { return }
        let boot = Moment.now().boot
        let isBusy = link.isUp && linkWindow.isOpen && deliveries.contains { $0.delivery.hasBacklog }
        let deadline = min(boot + (isBusy ? Self.checkInterval : 1_000_000), removalDeadline ?? .max)
        let end = ContinuousClock.now + .microseconds(max(0, deadline - boot))
        link.wait(until: min(end, supervisor.nextTurn ?? end))
    }

    /// Runs one turn.
    func turn() {
        for item in inbox.drain() { accept(item) }
        for event in link.read(limit: Self.readLimit, while: { self.intake.sampleCount < Self.maxSamples }) {
            handle(event)
        }
        expireParts(isAll: false)
        guard commit() else { return }
        check()
        reportHealth()
        reportUnhandledMessages()
        // This also sends the PUBACKs of the messages that were just committed.
        for event in link.write() { handle(event) }
    }

    /// Writes the samples of this turn to the outbox, and publishes them.
    /// - Returns: false if the outbox could not be written. Then no message of this turn is acknowledged.
    func commit() -> Bool {
        let moment = Moment.now()
        let additions = intake.takeAdditions()
        let contacts = intake.takeContacts()
        let changes = presenceChanges(of: contacts, at: moment)
        let isRemovalDue = removalDeadline.map { moment.boot >= $0 } ?? false
        if !additions.isEmpty || changes.isUrgent || isRemovalDue {
            var removed: [Int: [Epoch: SequenceSet]] = [:]
            if removalDeadline != nil {
                for index in deliveries.indices where !deliveries[index].removable.isEmpty {
                    removed[index] = deliveries[index].removable
                }
            }
            do {
                let result = try outbox.commit(additions, presences: changes.records, removing: removed)
                if let restoration = outbox.takeRestoration() {
                    logger.warning("\(restoration)", metadata: ["outbox": "\(configuration.outboxPath)"])
                }
                for index in removed.keys { deliveries[index].removable = [:] }
                removalDeadline = nil
                if outboxProblem != nil { nextHealth = 0 }
                outboxProblem = nil
                addDeliveries()
                didSave(changes, contacts, at: moment.boot)
                didDrop(result.dropped)
                publish(changes, isForeground: true, at: moment.wall)
                for entry in result.entries { publishLive(entry, at: moment.boot) }
            } catch {
                didFail(error, at: moment.boot)
                return false
            }
        } else {
            addDeliveries()
            didHear(contacts, at: moment.boot)
        }
        publish(changes, isForeground: false, at: moment.wall)
        for (item, receipt) in waiting { item.reply(.accepted(receipt)) }
        waiting = []
        hasUnacknowledged = false
        intake.didCommit(true)
        return true
    }

    private func didFail(_ error: any Error, at boot: Int64) {
        if outboxProblem == nil {
            logger.error(
                "cannot write outbox, messages stay at the broker",
                metadata: ["error": "\(error)"])
        }
        if outboxProblem == nil { nextHealth = 0 }
        intake.didCommit(false)
        outboxProblem = "\(error)"
        // What was heard since the last commit is not kept, and senders by HTTP wait before they try again.
        listening.begin(at: boot)
        for (item, _) in waiting { item.reply(.unavailable) }
        waiting = []
        if removalDeadline != nil { removalDeadline = boot + Self.removalDelay }
        // Without the PUBACKs, the broker sends the messages again on the next connection. If there are none, such as
        // when only HTTP requests failed, the connection stays.
        guard hasUnacknowledged else { return }
        hasUnacknowledged = false
        if link.isUp { handle(link.abandon(MQTTError(.other, "the outbox cannot be written"))) }
    }

    /// Creates the deliveries of new devices.
    /// - Parameter times: the times of the last messages of devices from earlier runs.
    private func addDeliveries(heardAt times: [Int64] = []) {
        let boot = Moment.now().boot
        while deliveries.count < outbox.devices.count {
            let index = deliveries.count
            // A new device has no pending batches yet, except for those of this commit, which are published next.
            var device = DeviceDelivery(
                outbox.devices[index], root: configuration.root, backlogRate: configuration.backlogRate,
                heardAt: times.indices.contains(index) ? times[index] : listening.time(at: boot),
                at: boot)
            if link.isUp { device.delivery = Delivery(pending: [:]) }
            deviceOfAckTopic[device.ackTopic] = index
            deliveries.append(device)
        }
    }

    private func finish() {
        let end = Moment.now().boot + Self.shutdownLimit
        for item in inbox.drain() { item.reply(.unavailable) }
        while link.isUp, deliveries.contains(where: \.isActive), Moment.now().boot < end {
            turn()
            link.wait(until: .now + .milliseconds(50))
        }
        if removalDeadline != nil { removalDeadline = 0 }
        expireParts(isAll: true)
        if commit() { for event in link.write() { handle(event) } }
        publishHealth(.offline)
        link.stop(until: .now + .seconds(2))
    }

    /// The status line for the supervisor.
    private var summary: String {
        (link.isUp ? "connected to \(configuration.broker)" : "no connection to \(configuration.broker)")
            + "; " + counted(Int64(outbox.devices.count), "device", "devices")
    }
}
