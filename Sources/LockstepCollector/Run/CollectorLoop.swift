import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepSupervision
import LockstepWire
import Logging

/// The collector's main thread: read → commit → acknowledge, in this order on every turn.
///
/// Where much waits, a turn hands it to the store in parts, and reads one while the store takes in the one before.
final class CollectorLoop {
    private let configuration: CollectorConfiguration
    private let writer: StoreWriter
    private let logger: Logger
    private let supervisor: Supervisor
    private let link: BrokerLink
    private let transitions: AsyncStream<DeviceTransition>.Continuation
    private let report: HealthReport
    /// When a subscription that was refused is tried again.
    private var subscribeAt: ContinuousClock.Instant?

    /// When what is read just now came, to some milliseconds.
    private var moment = Moment.now()
    /// Messages that this turn has read, and samples that it has handed to the store.
    private var messagesRead = 0
    private var samplesAdded = 0
    /// Whether this turn has handed anything to the store.
    private var hasAdded = false
    private var intake: Intake
    private var book: LifecycleBook
    private var schedule = AcknowledgementSchedule()
    /// Samples of a turn that is not on disk yet. Where it can't be written, they are good for trying whether the store
    /// can be written again: nothing of it was acknowledged.
    private var unwritten: IngestGroup?
    /// Devices whose states the broker has not been told since the connection came up.
    private var untold: ArraySlice<DeviceAddress> = []
    /// Transitions of this turn, to be announced once they are on disk.
    private var unannounced: [DeviceTransition] = []
    /// What this turn rejected, to be told once it is on disk.
    private var rejected: [RejectedMessage] = []
    private var saidFailure: MQTTError.Code?

    init(
        _ configuration: CollectorConfiguration, store: sending any SampleStore, wakeup: Wakeup, logger: Logger,
        supervisor: Supervisor, transitions: AsyncStream<DeviceTransition>.Continuation
    ) throws {
        self.configuration = configuration
        writer = StoreWriter(store)
        self.logger = logger
        self.supervisor = supervisor
        self.transitions = transitions
        let known = try writer.lifecycles()
        intake = Intake(
            root: configuration.root, limits: configuration.limits, maximumFuture: configuration.maximumFuture,
            maximumDevices: configuration.maximumDevices, devices: known.keys)
        book = LifecycleBook(known, timing: configuration.timing, at: .now())
        let report = HealthReport(configuration: configuration, logger: logger)
        self.report = report
        link = BrokerLink(wakeup: wakeup, version: configuration.mqttVersion) { report.connectionOptions(version: $0) }
        link.mayConnect = { [unowned self] in self.canGoOn() }
        link.onMessage = { [unowned self] message in
            self.messagesRead += 1
            self.intake.take(message, &self.book, at: self.moment)
        }
    }

    func run(until isStopping: () -> Bool) {
        logger.info("collector \(configuration.id) knows \(book.deviceCount) devices")
        while !isStopping() {
            supervisor.turned(summary)
            let boot = Moment.now().boot
            // Without a connection acknowledgements stay due: waiting for them would be spinning.
            let due = min(boot + 500_000, link.isUp ? schedule.nextDue ?? .max : .max)
            let deadline = ContinuousClock.now + .microseconds(max(0, due - boot))
            link.wait(until: min(deadline, supervisor.nextTurn ?? deadline))
            turn()
        }
        supervisor.stopping()
        turn()
        report.publish(.offline, counting: fleet, over: link, at: .now())
        link.stop(until: .now + .seconds(3))
        logger.info("ended")
    }

    /// How the collector is, in a line for its supervisor.
    private var summary: String {
        (link.isUp ? "connected to \(configuration.broker)" : "no connection to \(configuration.broker)")
            + "; \(book.deviceCount) devices"
            + (report.isStalled ? "; the store can't be written" : "")
    }

    private var fleet: HealthReport.Fleet {
        HealthReport.Fleet(devices: book.deviceCount, droppedSamples: intake.dropped)
    }

    private func turn() {
        moment = .now()
        readTurn()
        if let subscribeAt, subscribeAt <= .now, link.isUp { subscribe() }
        moment = .now()
        // Cut off from the broker, the collector can't tell who is silent.
        if link.isUp { intake.tick(&book, at: moment) }
        let group = intake.takeGroup(&book, at: moment)
        guard (hasAdded || !group.isEmpty) ? settle(group) : true else { return }
        book.commit()
        announceTransitions()
        publishStates()
        for (device, ack) in link.isUp ? schedule.takeDue(at: moment.boot) : [] {
            publish(.ack, of: device, AcknowledgementJSON.encode(ack), qos: .atMostOnce)
        }
        report.publishIfDue(counting: fleet, over: link, at: moment)
        // Only now, after the commits, do the acknowledgements of what was read go out.
        for event in link.write() { handle(event) }
        writer.doUpkeep()
    }

    /// Reads what came, up to a turn, and hands what it has to the store whenever that waits for something to do.
    private func readTurn() {
        let limits = configuration.turn
        let end = ContinuousClock.now + limits.duration
        messagesRead = 0
        samplesAdded = 0
        while messagesRead < limits.messages, samplesAdded + intake.waitingSamples < limits.samples {
            let before = messagesRead
            let events = link.read(limit: 100) { self.intake.waitingSamples < limits.partSamples }
            for event in events { handle(event) }
            // Less than could be: there is nothing more.
            if messagesRead - before < 100, intake.waitingSamples < limits.partSamples, !isMoreExpected(by: end) {
                return
            }
            guard intake.waitingBatches >= limits.partMessages || intake.waitingSamples >= limits.partSamples else {
                continue
            }
            supervisor.turned(summary)
            guard ContinuousClock.now < end else { return }
            moment = .now()
            if writer.isIdle || intake.waitingSamples >= limits.partSamples { add() }
        }
    }

    /// Waits a moment for more, where so much has come that there probably is: a commit for each trickle of a stream costs
    /// more than one for all.
    private func isMoreExpected(by end: ContinuousClock.Instant) -> Bool {
        guard messagesRead >= configuration.turn.burst, ContinuousClock.now < end else { return false }
        return link.waitToRead(until: .now + configuration.turn.lull)
    }

    /// Hands what came to the store, which takes it in while the next is read.
    private func add() {
        let group = intake.takeGroup(&book, at: moment)
        note(group)
        samplesAdded += group.runs.reduce(0) { $0 + $1.samples.count }
        hasAdded = true
        writer.add(group)
    }

    /// Keeps what is to be done once the group is on disk.
    private func note(_ group: IngestGroup) {
        unannounced += group.transitions
        rejected += group.rejected
        guard unwritten == nil else { return }
        unwritten = IngestGroup(dropped: group.dropped)
        unwritten?.runs = group.runs
    }

    /// Writes the last group of a turn, with those that were added before.
    /// - Returns: false if they could not be written: then nothing of the turn may be acknowledged, and the broker has to
    ///   hand it out again.
    private func settle(_ group: IngestGroup) -> Bool {
        note(group)
        hasAdded = false
        switch writer.commit(adding: group) {
        case .success(let result):
            unwritten = nil
            report.count(result, rejected: rejected)
            rejected.removeAll(keepingCapacity: true)
            let boot = Moment.now().boot
            for (key, received) in result.received { schedule.note(key, received: received, at: boot) }
            return true
        case .failure(let error):
            // Life cycles are decided anew when the broker hands it all out again: the same ones, with the same numbers.
            book.rollback()
            unannounced = []
            rejected = []
            intake.discard()
            report.stall("\(error)")
            handle(link.abandon(MQTTError(.other, "the store can't be written")))
            return false
        }
    }

    /// Whether to connect: what comes then should find a store that can be written. Once it can't, one connection is
    /// made all the same, to say so.
    private func canGoOn() -> Bool {
        guard report.isStalled, report.hasSaidStalled, let group = unwritten, !group.isEmpty else { return true }
        switch writer.commit(adding: group) {
        case .success(let result):
            unwritten = nil
            report.count(result, rejected: [])
            return true
        case .failure(let error):
            report.stall("\(error)")
            return false
        }
    }

    /// Tells of the transitions that are on disk.
    private func announceTransitions() {
        for change in unannounced {
            let transition = change.transition
            logger.info(
                "\(change.device): \(transition.from.map { "\($0.rawValue) → " } ?? "")\(transition.to.rawValue) (\(transition.reason))"
            )
            transitions.yield(change)
            publish(.state, of: change.device, StateJSON.encode(transition), qos: .atLeastOnce)
        }
        unannounced.removeAll(keepingCapacity: true)
    }

    private func publish(_ channel: Channel, of device: DeviceAddress, _ payload: [UInt8], qos: QualityOfService) {
        do {
            try link.publish(
                MQTTMessage(
                    topic: configuration.root.topic(device, channel), payload: payload, qos: qos, isRetained: true))
        } catch {
            logger.error("\(channel.name) of \(device) can't be published: \(error)")
        }
    }

    private func handle(_ event: BrokerLink.Event) {
        switch event {
        case .connected(let version, let sessionPresent):
            saidFailure = nil
            logger.info(
                "connected to \(configuration.broker) with MQTT \(version.rawValue)\(sessionPresent ? ", session resumed" : "")"
            )
            didConnect()
        case .disconnected(let error, _):
            if error.code == .takenOver {
                logger.error("another collector runs with the id '\(configuration.id)': give each its own --id")
            } else if !report.isStalled {
                logger.warning("\(configuration.broker): \(error); connecting again")
            }
        case .failed(let error, _):
            if saidFailure != error.code {
                saidFailure = error.code
                logger.warning("\(configuration.broker): \(error); trying on")
            }
        case .subscribed(_, let isGranted):
            if !isGranted {
                logger.error(
                    """
                    the broker refused the subscription, trying again: allow this user to read \
                    '\(configuration.root)/#'
                    """)
                // The rights may be mended, or a cluster may just have lost a node.
                subscribeAt = .now + .seconds(5)
            }
        case .published(_, let refusal):
            if let refusal { logger.error("\(refusal): allow this user to write state, ack and $collector topics") }
        }
    }

    private func subscribe() {
        subscribeAt = nil
        do {
            let groups: [GroupID?] = configuration.groups.isEmpty ? [nil] : configuration.groups
            for group in groups {
                try link.subscribe(to: configuration.root.filter(group: group), qos: .atLeastOnce)
            }
        } catch {
            logger.error("\(error)")
        }
    }

    private func didConnect() {
        subscribe()
        book.startListening(at: .now())
        report.publish(report.status, counting: fleet, over: link, at: .now())
        // A broker that lost its memory gets the states again.
        untold = book.devices[...]
    }

    /// Goes on telling the broker of all states, a portion a turn: of libmosquitto one call reads as many packets as
    /// there are messages without an answer, whatever the limits.
    private func publishStates() {
        guard link.isUp else { return }
        for device in untold.prefix(500) {
            guard let transition = book.lastTransition(of: device) else { continue }
            publish(.state, of: device, StateJSON.encode(transition), qos: .atLeastOnce)
        }
        untold = untold.dropFirst(500)
    }
}
