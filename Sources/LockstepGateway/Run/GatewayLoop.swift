import LockstepAgent
import LockstepMQTT
import LockstepModel
import LockstepWire
import Logging

/// The single thread of a gateway. A turn reads messages, commits their samples to the outbox, publishes them, and then
/// sends the PUBACKs of the messages.
final class GatewayLoop {
    /// The maximum number of foreign messages of one commit.
    static let readLimit = 2000
    /// The number of samples after which a turn reads no more messages.
    static let maxSamples = 50_000
    /// The time until a refused subscription is tried again, in µs.
    static let subscriptionRetryInterval: Int64 = 5_000_000
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
    /// The devices, as in the outbox.
    var devices: [GatewayDevice] = []
    /// What is published next, and what may be removed from the outbox.
    var delivery: OutboxDelivery
    /// The index of the device of each topic of acknowledgements.
    var deviceOfAckTopic: [String: Int] = [:]
    /// The filters of subscriptions without an answer, by message id; those that the broker refused; and when they are tried
    /// again, in µs of the boot clock, or nil if none was refused on this connection.
    var subscribing: [Int32: String] = [:]
    var refusedFilters: [String] = []
    var subscriptionRetry: Int64?
    /// Whether a message of this turn waits for its PUBACK.
    var hasUnacknowledged = false
    /// The requests that wait for the commit of this turn.
    var waiting: [(item: GatewayInbox.Item, receipt: RequestReceipt)] = []
    /// The session of the current connection, in µs since 1970.
    var session: Int64 = 0
    /// The time of the next check of the deliveries, in µs of the boot clock.
    var nextCheck: Int64 = 0
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
    let started = Moment.now().wall
    /// The time of the start in µs of the boot clock.
    let startedAt = Moment.now().boot
    /// The number of accepted messages, of refused ones, and of parts left out of accepted ones, since the start.
    var accepted: Int64 = 0
    var refused: Int64 = 0
    var leftOut: Int64 = 0
    /// What was used up of the log entries about refused messages.
    var refusalLog = Allowance()
    /// What was used up of the log entries about the gateway's clock.
    var clockLog = Allowance()
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
        certificates = CertificateWatch(tls: configuration.broker.tls, serverFile: configuration.serverCertificateFile)
        self.inbox = inbox
        self.logger = logger
        self.supervisor = supervisor
        outbox = try GatewayOutbox(
            path: configuration.outboxPath, limits: Outbox.Limits(bytes: configuration.outboxSize, age: .max),
            encoding: configuration.encoding, streams: configuration.root.streams)
        delivery = OutboxDelivery(backlogRate: configuration.backlogRate)
        intake = GatewayIntake(configuration)
        link = BrokerLink(wakeup: wakeup, version: configuration.broker.version) { version in
            configuration.broker.options(
                clientID: MQTTOptions.clientID("gateway", configuration.id), version: version, keepsSession: true,
                will: Self.will(configuration))
        }
        link.onMessage = { [unowned self] message in receive(message) }
        link.mayConnect = { [unowned self] in Moment.now().boot >= takeoverPause.end }
        addDevices(
            heardAt: EarlierMessages.times(
                outbox.devices.indices.map { outbox.senders[$0].presence?.heardAt }, startingAt: started,
                boot: startedAt))
        inbox.earlierSparkplugSenders = outbox.senders.present(of: SparkplugNodes.formatName)
    }

    /// Runs until the gateway is stopped.
    func run() {
        logger.info(
            "gateway started",
            metadata: [
                "devices": "\(outbox.devices.count)", "outbox_bytes": "\(outbox.batches.bytes)",
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
        let interval = delivery.canSendBacklog ? Self.checkInterval : 1_000_000
        let deadline = min(boot + interval, delivery.removalDeadline ?? .max)
        let end = ContinuousClock.now + .microseconds(max(0, deadline - boot))
        link.wait(until: min(end, supervisor.nextTurn ?? end))
    }

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
    /// - Parameter isLast: whether to remove all acknowledged batches now.
    /// - Returns: false if the outbox could not be written. Then no message of this turn is acknowledged.
    func commit(isLast: Bool = false) -> Bool {
        let moment = Moment.now()
        let additions = intake.takeAdditions()
        let contacts = intake.takeContacts()
        let changes = presenceChanges(of: contacts, at: moment)
        let isRemovalDue = delivery.removalDeadline.map { isLast || moment.boot >= $0 } ?? false
        if !additions.isEmpty || changes.isUrgent || isRemovalDue {
            do {
                let result = try outbox.accept(
                    additions, presences: changes.records, removing: delivery.removable, at: moment.boot)
                if let restoration = outbox.batches.takeRestoration() {
                    logger.warning("\(restoration)", metadata: ["outbox": "\(configuration.outboxPath)"])
                }
                delivery.didRemove()
                if outboxProblem != nil { nextHealth = 0 }
                outboxProblem = nil
                addDevices()
                didSave(changes, contacts, at: moment.boot)
                didDrop(result)
                publish(changes, isForeground: true, at: moment.wall)
                for entry in result.entries { publishLive(entry, at: moment.boot) }
            } catch {
                didFail(error, at: moment.boot)
                return false
            }
        } else {
            addDevices()
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
        delivery.didFailToRemove(at: boot)
        // Without the PUBACKs, the broker sends the messages again on the next connection. If there are none, such as
        // when only HTTP requests failed, the connection stays.
        guard hasUnacknowledged else { return }
        hasUnacknowledged = false
        if link.isUp { handle(link.abandon(MQTTError(.other, "the outbox cannot be written"))) }
    }

    /// Adds the new devices of the outbox.
    /// - Parameter times: the times of the last messages of devices from earlier runs; nil after the start.
    private func addDevices(heardAt times: [Int64]? = nil) {
        let boot = Moment.now().boot
        while devices.count < outbox.devices.count {
            let index = devices.count
            let device = outbox.devices[index]
            let topic = configuration.root.topic(device.address, .ack)
            deviceOfAckTopic[topic] = index
            devices.append(GatewayDevice(ackTopic: topic, heardAt: times?[index] ?? listening.time(at: boot)))
            // A new device has no pending batches yet, except for those of this commit, which are published next.
            delivery.add(pending: times == nil ? [:] : device.pending, at: boot)
        }
    }

    private func finish() {
        let end = Moment.now().boot + Self.shutdownLimit
        for item in inbox.drain() { item.reply(.unavailable) }
        while link.isUp, !delivery.isEmpty, Moment.now().boot < end {
            turn()
            link.wait(until: .now + .milliseconds(50))
        }
        expireParts(isAll: true)
        if commit(isLast: true) { for event in link.write() { handle(event) } }
        publishHealth(.offline)
        link.stop(until: .now + .seconds(2))
    }

    /// The status line for the supervisor.
    private var summary: String {
        (link.isUp ? "connected to \(configuration.broker)" : "no connection to \(configuration.broker)")
            + "; " + counted(Int64(outbox.devices.count), "device", "devices")
    }
}

/// The time for which a gateway stays disconnected after another client has taken over its session.
///
/// Two gateways with the same id would otherwise take the session from each other twice a minute. The pause doubles with
/// each takeover. Times are in µs of the boot clock.
struct TakeoverPause {
    /// The first pause, which is also the delay of ``/LockstepMQTT/BrokerLink`` after a takeover.
    static let initial: Int64 = 30_000_000
    /// The longest pause. Meanwhile, the samples of HTTP requests stay in the outbox, and MQTT messages with QoS 0 are lost.
    static let maximum: Int64 = 120_000_000
    /// The time after a pause from which a takeover counts as the first one again.
    static let calm: Int64 = 3_600_000_000

    private var pause: Int64 = 0
    private(set) var end: Int64 = 0

    /// Begins a pause.
    /// - Returns: its duration in µs.
    mutating func didLoseSession(at now: Int64) -> Int64 {
        if now - end >= Self.calm { pause = 0 }
        pause = pause == 0 ? Self.initial : min(2 * pause, Self.maximum)
        end = now + pause
        return pause
    }
}
