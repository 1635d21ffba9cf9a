import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepSensors
import LockstepSupervision
import LockstepWire
import Logging

/// The agent's one thread: samples to outbox, outbox to broker, acknowledgements back.
final class AgentLoop {
    /// Backlog batches looked at in one turn.
    static let mostReadBacklog = 100
    /// Samples kept in memory while the outbox can't be written.
    static let mostUnsavedSamples = 200_000

    let configuration: AgentConfiguration
    let inbox: Inbox
    let logger: Logger
    let supervisor: Supervisor
    let outbox: Outbox
    let link: BrokerLink
    let announcement: Announcement

    var line: TimeLine
    var suspend: SuspendDetector
    var stamper = SampleStamper()
    var coalescer: Coalescer
    /// Who wants which samples of which sensor; the publisher is the one who asks here.
    var graph: SensorGraph
    let publisher: Asker
    var leases = LeaseBook()
    /// What was asked on the `command` topic and is not yet answered.
    var requests: [Data] = []
    /// What the sources were last told of rates.
    var toldRates: [SensorStream: Double]?
    var delivery: Delivery
    var budget: ByteBudget
    /// Blocks that could not be written yet.
    var unsaved: [SampleBlock] = []
    /// Whether the outbox could not be written at the last try.
    var isOutboxFailing = false
    var removed: [Epoch: SequenceSet] = [:]
    var removeBy: Int64?
    /// An acknowledgement of batches that this outbox never sent.
    var contradiction: Acknowledgement?
    var backlogFrom = Int64.max
    /// When a subscription that was refused is tried again, in µs of the boot clock.
    var subscribeAt: Int64?
    var problems = ProblemLog()

    var runningSources: Int
    var sourceError: (any Error)?
    var isStopping = false
    /// Whether the clock was set and the new epoch could not be written yet.
    private var lacksEpoch = false

    init(
        _ configuration: AgentConfiguration, inbox: Inbox, wakeup: Wakeup, logger: Logger, supervisor: Supervisor
    ) throws {
        let now = Moment.now()
        self.configuration = configuration
        self.inbox = inbox
        self.logger = logger
        self.supervisor = supervisor
        outbox = try Outbox(
            path: configuration.outboxPath, limits: configuration.outboxLimits, encoding: configuration.encoding,
            keepsJournal: configuration.keepsJournal, streams: configuration.root.streams)
        line = TimeLine(at: now)
        suspend = SuspendDetector(at: now)
        coalescer = Coalescer(limits: configuration.coalescing)
        graph = SensorGraph(sources: configuration.sources, options: configuration.derived)
        publisher = graph.addAsker()
        delivery = Delivery(
            pending: try outbox.pending(), waitsForCollector: configuration.acknowledgedBy == .collector)
        budget = ByteBudget(rate: configuration.backlogRate, at: now.boot)
        runningSources = configuration.sources.count
        let announcement = Announcement(configuration: configuration, outbox: outbox, logger: logger)
        self.announcement = announcement
        link = BrokerLink(wakeup: wakeup, version: configuration.mqttVersion) { version in
            announcement.connectionOptions(version: version)
        }
        link.onMessage = { [unowned self] message in self.handle(message) }
    }

    func run() throws {
        logger.info(
            "agent of \(configuration.address) with \(delivery.unsentCount) batches in the outbox, epoch \(outbox.epoch)"
        )
        if outbox.foundClockSet {
            logger.warning("the clock was set since the last run: a new epoch begins")
        }
        askSensors(at: .now())
        while !isStopping {
            supervisor.turned(summary)
            waitForWork()
            step()
        }
        supervisor.stopping()
        finish()
        if let sourceError { throw sourceError }
    }

    private func waitForWork() {
        let boot = Moment.now().boot
        let deadline = ContinuousClock.now + .microseconds(max(0, nextTurn(at: boot) - boot))
        link.wait(until: min(deadline, supervisor.nextTurn ?? deadline))
    }

    /// When the loop has to turn, in µs of the boot clock, unless something wakes it before.
    func nextTurn(at boot: Int64) -> Int64 {
        // The inbox signals once for all that waits there, and that signal may be gone: saying goodbye to a broker waits
        // as well.
        guard requests.isEmpty, inbox.isEmpty else { return boot }
        let due = min(
            boot + 1_000_000, coalescer.nextDue ?? .max, isOutboxFailing ? .max : removeBy ?? .max,
            leases.nextExpiry ?? .max)
        return delivery.takesBacklog && link.isUp ? min(due, boot + 50_000) : due
    }

    /// One turn of the loop; `moment` is the present.
    func step(at moment: Moment = .now()) {
        observeClocks(moment)
        if leases.expire(at: moment.boot) { askSensors(at: moment) }
        for item in inbox.drain() { handle(item, at: moment) }
        for event in link.read() { handle(event) }
        leaveRestoredEpoch(at: moment.boot)
        if let subscribeAt, subscribeAt <= moment.boot, link.isUp { subscribe() }
        answerRequests(at: moment)
        accept(coalescer.takeDue(at: moment.boot), at: moment)
        delivery.tick(at: moment.boot)
        publishBacklog(at: moment)
        announcement.publishIfDue(at: moment, on: line, over: link)
        for event in link.write() { handle(event) }
        if runningSources == 0, !isStopping { endWhenDelivered(at: moment) }
    }

    private func observeClocks(_ moment: Moment) {
        if case .stepped(let by) = line.observe(moment) { startEpoch(steppedBy: by, at: moment) }
        startLackingEpoch(at: moment)
        if let began = suspend.observe(moment), announcement.phase == .foreground {
            // The phases as they were: the machine slept, and is back.
            announcement.say(.background, reason: "suspend", at: line.timestamp(boot: began), over: link)
            announcement.say(.foreground, reason: "wake", at: line.timestamp(boot: moment.boot), over: link)
        }
    }

    private func startEpoch(steppedBy step: Int64, at moment: Moment) {
        for output in graph.restart() { coalescer.add(output.samples, at: moment.boot) }
        accept(coalescer.takeAll(), at: moment)
        logger.warning("the clock was stepped by \(Double(step) / 1e6) s: a new epoch begins")
        stamper.startEpoch()
        lacksEpoch = true
        startLackingEpoch(at: moment)
    }

    /// Tried until it is written: an epoch must not go on over a step of the clock.
    private func startLackingEpoch(at moment: Moment) {
        guard lacksEpoch, problems.isRetryDue("epoch", at: moment.boot) else { return }
        do {
            try outbox.startEpoch()
            lacksEpoch = false
            problems.mend("epoch")
            logger.info("epoch \(outbox.epoch)")
        } catch {
            if problems.isNew("epoch") { logger.error("\(error); the new epoch waits") }
            return
        }
        reconnectForEpoch()
    }

    private func handle(_ item: Inbox.Item, at moment: Moment) {
        switch item {
        case .samples(let block, let clock): take(block, clock: clock, at: moment)
        case .status(let status, let source):
            if announcement.note(status, of: source) { logger.info("\(source): \(status)") }
        case .sourceEnded(let source, let error):
            runningSources -= 1
            if let error {
                logger.error("\(source): \(error)")
                sourceError = sourceError ?? error
                _ = announcement.note(.unavailable("\(error)"), of: source)
            } else {
                _ = announcement.note(.ended, of: source)
            }
            // A source may end within the window of its last samples.
            if runningSources == 0 {
                for output in graph.restart() { coalescer.add(output.samples, at: moment.boot) }
                accept(coalescer.takeAll(), at: moment)
            }
        case .phase(let phase, let reason):
            setPhase(phase, reason: reason, at: moment)
        case .stop: isStopping = true
        }
    }

    func setPhase(_ phase: Phase, reason: String, at moment: Moment) {
        guard phase != announcement.phase else { return }
        logger.info("phase \(phase.rawValue) (\(reason))")
        announcement.say(phase, reason: reason, at: line.timestamp(boot: moment.boot), over: link)
        askSensors(at: moment)
    }

    /// Samples of a source: on the time line, to those who ask for them, and into the window.
    func take(_ given: SampleBlock, clock: SampleClock, at moment: Moment) {
        let block = given.droppingIncomplete()
        if block.count < given.count {
            announcement.unsavedDropped += Int64(given.count - block.count)
            if problems.isNew("incomplete \(block.stream)") {
                logger.warning("samples of \(block.stream) without all their values are dropped, and counted")
            }
        }
        let stamped = clock == .boot ? stamper.stamp(block, on: line) : block
        let now = line.timestamp(boot: moment.boot)
        for output in graph.update(stamped) {
            let age = output.samples.times.first.map { now.microseconds - $0 } ?? 0
            coalescer.add(output.samples, at: moment.boot, age: age)
        }
    }

    private func endWhenDelivered(at moment: Moment) {
        if delivery.isEmpty, unsaved.isEmpty {
            logger.info("all sources have ended and everything is acknowledged")
            isStopping = true
        } else if problems.isNew("waiting") {
            logger.info("all sources have ended: waiting until everything is acknowledged")
        }
    }
}
