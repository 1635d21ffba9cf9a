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
    let configuration: CollectorConfiguration
    let writer: StoreWriter
    private let logger: Logger
    let supervisor: Supervisor
    let link: BrokerLink
    private let transitions: AsyncStream<DeviceTransition>.Continuation
    let report: HealthReport
    /// When a subscription that was refused is tried again.
    var subscribeAt: ContinuousClock.Instant?

    var gathering = Gathering(at: .now)
    var lull: Lull
    /// When the last turn began.
    var began = ContinuousClock.now
    /// When what is read just now was read: of up to a hundred messages the first.
    var moment = Moment.now()
    /// Messages that this turn has read, and how many when it last handed some to the store.
    var messagesRead = 0
    var messagesAdded = 0
    /// Those of them for whose acknowledgement the broker waits, and the retained ones among these.
    var messagesUnacknowledged = 0
    var messagesRetained = 0
    /// Samples that this turn has handed to the store.
    var samplesAdded = 0
    /// Whether this turn has handed anything to the store.
    var hasAdded = false
    /// Since when something waits that need not be written at once, in µs of the boot clock.
    var waitingSince: Int64?
    /// µs for which it may.
    static let longestWait: Int64 = 1_000_000
    var intake: Intake
    var book: LifecycleBook
    var schedule = AcknowledgementSchedule()
    /// Samples of a turn that is not on disk yet. Where it can't be written, they are good for trying whether the store
    /// can be written again: nothing of it was acknowledged.
    var unwritten: IngestGroup?
    /// Devices whose states the broker has not been told since the connection came up.
    private var untold: ArraySlice<DeviceAddress> = []
    /// States on their way to the broker that it takes in at the least before its answers have to be read.
    private static let fewStates = 10
    /// Whether so many states are on their way that the broker may take in no more before its answers are read.
    var isTellingStates: Bool { !untold.isEmpty || unconfirmed.count > Self.fewStates }
    /// Transitions of this turn, to be announced once they are on disk.
    var unannounced: [DeviceTransition] = []
    /// What this turn rejected, to be told once it is on disk.
    var rejected: [RejectedMessage] = []
    /// Messages that the broker has not confirmed.
    var unconfirmed: Set<Int32> = []
    private var saidFailure: MQTTError.Code?

    init(
        _ configuration: CollectorConfiguration, store: sending any SampleStore, wakeup: Wakeup, logger: Logger,
        supervisor: Supervisor, transitions: AsyncStream<DeviceTransition>.Continuation
    ) throws {
        self.configuration = configuration
        writer = StoreWriter(store)
        lull = Lull(configuration.turn)
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
    }

    func run(until isStopping: () -> Bool) {
        logger.info("collector \(configuration.id) knows \(book.deviceCount) devices")
        // Strongly held meanwhile: to find out for each message whether the loop is still there takes time.
        link.onMessage = { message in
            self.messagesRead += 1
            if message.needsAcknowledgement {
                self.messagesUnacknowledged += 1
                if message.isRetained { self.messagesRetained += 1 }
            }
            self.intake.take(message, &self.book, at: self.moment)
        }
        defer { link.onMessage = nil }
        while !isStopping() {
            supervisor.didTurn(summary)
            let boot = Moment.now().boot
            // Without a connection acknowledgements stay due: waiting for them would be spinning.
            let due = min(boot + 500_000, link.isUp ? schedule.nextDue ?? .max : .max)
            let deadline = ContinuousClock.now + .microseconds(max(0, due - boot))
            let hasGathered = link.wait(until: min(deadline, supervisor.nextTurn ?? deadline)) && gather()
            lull.beginTurn(hasGathered: hasGathered)
            turn()
        }
        supervisor.willStop()
        turn(isLast: true)
        report.publish(.offline, counting: fleet, over: link, at: .now())
        link.stop(until: .now + .seconds(3))
        // Whoever comes after may open the store.
        writer.finish()
        logger.info("ended")
    }

    /// How the collector is, in a line for its supervisor.
    var summary: String {
        (link.isUp ? "connected to \(configuration.broker)" : "no connection to \(configuration.broker)")
            + "; \(book.deviceCount) devices"
            + (report.isStalled ? "; the store can't be written" : "")
    }

    var fleet: HealthReport.Fleet {
        HealthReport.Fleet(devices: book.deviceCount, droppedSamples: intake.dropped)
    }

    /// Whether to connect: what comes then should find a store that can be written. Once it can't, one connection is
    /// made all the same, to say so.
    private func canGoOn() -> Bool {
        guard report.isStalled, report.hasSaidStalled, !hasAdded, let group = unwritten, !group.isEmpty else {
            return true
        }
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
    func announceTransitions() {
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

    func publish(_ channel: Channel, of device: DeviceAddress, _ payload: [UInt8], qos: QualityOfService) {
        do {
            let id = try link.publish(
                MQTTMessage(
                    topic: configuration.root.topic(device, channel), payload: payload, qos: qos, isRetained: true))
            if let id, qos == .atLeastOnce { unconfirmed.insert(id) }
        } catch {
            logger.error("\(channel.name) of \(device) can't be published: \(error)")
        }
    }

    func handle(_ event: BrokerLink.Event) {
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
        case .published(let id, let refusal):
            unconfirmed.remove(id)
            if let refusal { logger.error("\(refusal): allow this user to write state, ack and $collector topics") }
        }
    }

    func subscribe() {
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
        gathering = Gathering(at: .now)
        unconfirmed.removeAll()
        subscribe()
        book.startListening(at: .now())
        report.publish(report.status, counting: fleet, over: link, at: .now())
        // A broker that lost its memory gets the states again.
        untold = book.devices[...]
    }

    /// Goes on telling the broker of all states, a portion a turn: of libmosquitto one call reads as many packets as
    /// there are messages without an answer, whatever the limits.
    func publishStates() {
        guard link.isUp else { return }
        for device in untold.prefix(500) {
            guard let transition = book.lastTransition(of: device) else { continue }
            publish(.state, of: device, StateJSON.encode(transition), qos: .atLeastOnce)
        }
        untold = untold.dropFirst(500)
    }
}
