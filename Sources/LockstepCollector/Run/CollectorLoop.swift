import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire
import Logging

/// The collector's main loop. It runs on one thread and repeats a turn: read, commit, acknowledge.
///
/// ``TurnMachine`` decides what to do next. The loop reads the link and the clocks, and carries out the actions.
final class CollectorLoop {
    let configuration: CollectorConfiguration
    let logger: Logger
    let supervisor: Supervisor
    let link: BrokerLink
    let writer: StoreWriter
    let report: HealthReport
    let transitions: AsyncStream<DeviceTransition>.Continuation

    let rules: CollectorRules
    var machine: TurnMachine
    var intake: Intake
    var registry: LifecycleRegistry
    var schedule = AcknowledgementSchedule()
    var pending = PendingCommit()
    /// The outcome of the last commit, until it is settled or rolled back.
    var commitResult: Result<IngestResult, any Error> = .success(IngestResult())
    /// The runs that were handed to the store since the last commit, to use their memory again.
    var writtenRuns: [[SampleRun]] = []
    /// The counters of the current read.
    var readResult = TurnMachine.ReadResult()
    /// The time at which the current messages were read. It is shared by all messages of one read.
    var moment = Moment.now()
    /// Why this collector may store and acknowledge.
    var ownership: Ownership
    /// The messages that were read before the share was taken over: a broker may send them in one TLS record with its
    /// answer to the connect.
    var earlyMessages: [CopiedMessage] = []
    private(set) var isStopping: () -> Bool = { false }
    /// Called when the broker has accepted a connection.
    var didConnect: () -> Void = {}
    /// Called when another collector uses the session.
    var didStayAway: () -> Void = {}
    /// The delay before the next attempt to connect.
    var retryDelay = Duration.zero
    /// The devices whose states are published after a connect, in portions.
    var announcedDevices: [DeviceAddress] = []

    /// The delays between attempts to connect. There are few collectors, and all devices wait for them: after an outage of
    /// the broker, they are back within seconds.
    static let backoff = Backoff(maximum: .seconds(5))
    /// The delay after another collector with this id has ended the connection: two of them disturb each other seldom.
    static let takeoverDelay = Duration.seconds(30)

    init(
        _ configuration: CollectorConfiguration, store: sending any SampleStore, wakeup: Wakeup, logger: Logger,
        supervisor: Supervisor, transitions: AsyncStream<DeviceTransition>.Continuation, mailbox: RuleMailbox,
        ownership: Ownership = Ownership()
    ) throws {
        self.configuration = configuration
        self.logger = logger
        self.supervisor = supervisor
        self.transitions = transitions
        self.ownership = ownership
        // The connection of a share belongs to its lease, whatever the store is.
        let location = ownership.endsWithConnection ? nil : store.location.map { CollectorHealth.Store($0) }
        let writer = StoreWriter(store)
        self.writer = writer
        rules = CollectorRules(configuration, writer: writer, mailbox: mailbox, wakeup: wakeup, logger: logger)
        machine = TurnMachine(configuration.turn, at: .now)
        (intake, registry) = try Self.restore(configuration, writer)
        let report = HealthReport(configuration: configuration, store: location, logger: logger)
        report.readSpace = { writer.space() }
        report.readRules = { [rules] in rules.reported }
        self.report = report
        link = BrokerLink(
            wakeup: wakeup, version: configuration.broker.version, backoff: Self.backoff,
            takeoverDelay: Self.takeoverDelay,
            node: configuration.node
        ) {
            report.connectionOptions(version: $0)
        }
        link.mayConnect = { [unowned self] in
            guard mayConnect(until: isStopping) else { return false }
            return handle(.reconnectDue(hasTrialGroup: pending.hasTrialGroup))
        }
    }

    /// Reads the known devices again.
    func restore() throws { (intake, registry) = try Self.restore(configuration, writer) }

    private static func restore(
        _ configuration: CollectorConfiguration, _ writer: StoreWriter
    ) throws -> (Intake, LifecycleRegistry) {
        // Other collectors may store other devices in the same place.
        let scope = configuration.scope
        let known = try writer.lifecycles().filter { device, _ in scope.contains(device) }
        var intake = Intake(
            scope: scope, limits: configuration.limits, maxFuture: configuration.maxFuture,
            maxDevices: configuration.maxDevices, devices: known.keys)
        intake.collector = configuration.id
        let now = Moment.now()
        let registry = LifecycleRegistry(known, timing: configuration.timing, at: now)
        intake.sessions = SessionRegistry(
            try writer.sessions().filter { scope.containsGroup($0.key.group) }, at: now)
        for device in known.keys where !registry.isOnline(device, at: now) { intake.sessions.didLeave(device) }
        return (intake, registry)
    }

    /// Runs until the collector is to stop.
    /// - Throws: ``OtherStoreError`` if another collector with this id is running with another store.
    func run(until isStopping: @escaping () -> Bool) throws {
        self.isStopping = isStopping
        defer { self.isStopping = { true } }
        logger.info(
            "collector started", metadata: ["id": "\(configuration.id)", "devices": "\(registry.deviceCount)"])
        do { try checkSessionAtStart(until: isStopping) } catch {
            writer.close()
            throw error
        }
        // The closure captures self strongly while the loop runs. An unowned capture would cost a check per message.
        link.onMessage = { message in
            if self.ownership.mayRead {
                self.ingest(message)
            } else {
                self.earlyMessages.append(CopiedMessage(message))
            }
        }
        defer { link.onMessage = nil }
        // Those of a share start when it is taken over.
        if !ownership.endsWithConnection { rules.start() }
        // A collector that was killed may have left maintenance.
        writer.performMaintenance()
        while !isStopping(), !ownership.hasEnded {
            supervisor.didTurn(summary)
            ownership.beginTurn(at: Moment.now().boot)
            if ownership.hasEnded { break }
            waitForWork()
            // Only packets of earlier turns are queued. Before the end of this turn, they could wait for a pause.
            if link.wantsWrite { flush() }
            runTurn(startingWith: .wokeUp(hasUnsentData: link.wantsWrite))
        }
        supervisor.willStop()
        if !ownership.hasEnded { runTurn(startingWith: .stopping) }
        reportEnd()
        link.stop(until: .now + .seconds(3))
        rules.stop()
        // The store must be closed when this returns, so that another process can open it.
        writer.close()
        if case .session(let session) = ownership, let conflict = session.conflict { throw conflict }
        logger.info("collector stopped")
    }

    /// Tells others that the collector has ended.
    private func reportEnd() {
        switch ownership {
        case .share(let lease, _) where ownership.hasEnded:
            // Nothing may be sent: what was read and not committed belongs to the next owner.
            if link.isUp { _ = link.abandon(MQTTError(.other, "the share was lost")) }
            // The others need not wait until the store is closed, which takes long if its servers do not answer. What is
            // written until then has the token of this claim. Otherwise, they should find its last counters.
            if ownership.shareProblem?.isStoreClosed == true { lease.release() }
        case .share:
            report.publish(.offline, counting: fleet, over: link, at: .now())
            // A share that was released is not offline: its next owner reports under an id of its own.
            report.clear(over: link)
        case .session(let session) where !link.isUp && (report.isStalled || session.phase == .announced):
            // The last report says otherwise. If this connection ended later, the broker would publish its last will again.
            link.stop(until: .now)
            guard session.other == nil,
                !separateReport.publish(.offline, replacesOther: false, until: .now + .seconds(3))
            else { return }
            logger.warning(
                "cannot report that the collector is offline",
                metadata: [
                    "hint":
                        "check that the broker is running and lets this user read and write '\(configuration.healthTopic)'"
                ])
        case .session: report.publish(.offline, counting: fleet, over: link, at: .now())
        }
    }

    func ingest(_ message: IncomingMessage) {
        readResult.messages += 1
        if message.needsAcknowledgement { readResult.unacknowledged += 1 }
        intake.ingest(message, &registry, at: moment)
        if intake.forgetting.isDue { publishForgotten() }
        if intake.clockDifferences.hasNews { logClockDifferences() }
        endEarlierSubscriptions()
    }

    private func logClockDifferences() {
        for news in intake.clockDifferences.take() {
            var metadata: Logger.Metadata = [
                "device": "\(news.device)", "ahead_s": "\(news.offset / 1_000_000)",
            ]
            guard news.isWrong else {
                logger.info("clocks of device and collector agree again", metadata: metadata)
                continue
            }
            metadata["hint"] = "synchronise both with NTP: chronyc tracking, or timedatectl"
            logger.warning("clocks of device and collector differ by more than a minute", metadata: metadata)
        }
    }

    /// Waits until there is something to read, or until a deadline.
    private func waitForWork() {
        let boot = Moment.now().boot
        let acknowledgement = schedule.nextDeadline.map { Duration.microseconds($0 - boot) }
        let deadline = ContinuousClock.now + machine.maxWait(untilAcknowledgement: acknowledgement)
        link.wait(until: min(deadline, supervisor.nextTurn ?? deadline))
    }

    private func runTurn(startingWith event: TurnMachine.Event) {
        var action = machine.handle(event, at: .now)
        while let event = perform(action) { action = machine.handle(event, at: .now) }
    }

    /// The collector's status in one line, for the supervisor.
    var summary: String {
        (link.isUp ? "connected to \(configuration.broker)" : "no connection to \(configuration.broker)")
            + "; " + counted(registry.deviceCount, "device")
            + (isAway ? "; another collector with this id is running" : "")
            + (report.isStalled ? "; the store cannot be written" : "")
    }

    /// Whether another collector uses the session.
    private var isAway: Bool { if case .session(let session) = ownership { session.other != nil } else { false } }

    var separateReport: SeparateReport {
        SeparateReport(configuration: configuration, report: report, fleet: fleet)
    }

    var fleet: HealthReport.Fleet {
        HealthReport.Fleet(devices: registry.deviceCount, droppedSamples: intake.dropped)
    }
}

extension CollectorLoop {
    /// Publishes what needs no commit: answers to requests, the deletion of presence messages of forgotten devices, and the
    /// states that other clients have deleted.
    func publishForgotten() {
        let (requests, ended, deleted) = intake.forgetting.takeDue()
        for request in requests { finish(request) }
        for device in ended { publish(.presence, of: device, [], qos: .atLeastOnce) }
        for device in deleted {
            if let transition = registry.lastTransition(of: device) { publishState(transition, of: device) }
        }
    }

    /// Publishes what follows from a commit for forgotten devices, and for those that have sent again.
    func settleForgotten(_ returned: [DeviceAddress]) {
        for device in returned {
            if let transition = registry.lastTransition(of: device) { publishState(transition, of: device) }
        }
        for request in intake.forgetting.takePending() {
            // It may have sent again in the same transaction.
            let isForgotten = registry.isForgotten(request.device)
            finish(.init(device: request.device, id: request.id, outcome: isForgotten ? .forgotten : .online))
            guard isForgotten else { continue }
            logger.info("device forgotten", metadata: ["device": "\(request.device)"])
        }
    }

    /// Deletes the retained messages of a device that is forgotten, and answers the request.
    private func finish(_ request: Forgetting.Request) {
        let device = request.device
        if request.outcome == .forgotten || request.outcome == .unknown && request.deletesUnknown {
            schedule.cancel(device)
            for channel: Channel in [.state, .ack, .presence] { publish(channel, of: device, [], qos: .atLeastOnce) }
        }
        let answer = ForgetAnswer(
            id: request.id, collector: configuration.id, outcome: request.outcome,
            state: request.outcome == .online ? registry.state(of: device) : nil)
        do {
            let id = try link.publish(
                MQTTMessage(
                    topic: configuration.root.topic(device, .forgotten), payload: ForgetJSON.encode(answer),
                    qos: .atLeastOnce))
            if let id { handle(.queued(id: id)) }
        } catch {
            logger.error(
                "publishing failed", metadata: ["channel": "\(Channel.forgotten.name)", "error": "\(error)"])
        }
    }
}
