import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepSensors
import Logging

/// The decisions of an agent: takes an event and the time, and returns the actions to carry out.
///
/// The state performs no I/O and reads no clock. ``AgentLoop`` reads the link, the inbox and the clocks, passes
/// events to ``handle(_:at:)``, carries out the actions in order, and returns their results as further events. Samples
/// go straight into the coalescer, without an action.
struct AgentState {
    /// The maximum number of samples kept in memory while the outbox cannot be written.
    static let maxUnsavedSamples = 200_000
    /// The maximum number of requests answered in a turn. The others wait, so that samples and batches are not delayed.
    static let maxAnswers = 20
    /// The time until a refused subscription is retried, in µs.
    static let subscriptionRetryInterval: Int64 = 5_000_000
    /// The maximum interval between turns, in µs.
    static let maxTurnInterval: Int64 = 1_000_000
    /// The maximum interval between turns that publish backlog, in µs.
    static let backlogInterval: Int64 = 50_000

    let configuration: AgentConfiguration

    // Clocks.
    var timeLine: TimeLine
    var suspend: SuspendDetector
    /// The comparison with the clocks of the collectors.
    var clock = ClockSession()
    var stamper = SampleStamper()
    /// Whether the clock was stepped and the outbox has not started a new epoch yet.
    var needsEpoch = false

    // Samples and rates.
    var coalescer: Coalescer
    var graph: SensorGraph
    /// The agent's own subscription, for the published streams.
    let publisher: Subscriber
    var leases = LeaseRegistry()
    /// The rates last set on the sources, in samples a second, or nil if none were set yet.
    var appliedRates: [SensorStream: Double]?
    var derivedStatuses: [SensorStream: SourceStatus] = [:]
    var runningSources: Int
    /// The first error that ended a source.
    var sourceError: (any Error)?
    var presence: PresenceState
    /// The names of the accelerometer and the gyroscope, which a calibration belongs to; nil without an accelerometer, or if
    /// several sources provide a stream.
    let motionSensors: String?

    // Outbox.
    /// Blocks that could not be written yet.
    var unsaved: [SampleBlock] = []
    /// Why the last write failed, or nil.
    var unwritable: String?
    /// An acknowledgement of batches that this outbox never published. The outbox may be an older copy.
    var contradictingAck: Acknowledgement?

    // Broker and collector.
    var isConnected: Bool { delivery.isConnected }
    var delivery: OutboxDelivery
    var takeover = Takeover()
    /// The time to retry a refused subscription, in µs of the boot clock.
    var subscriptionRetry: Int64?
    /// The payloads of unanswered requests.
    var requests: [Data] = []
    /// The answered requests, so that none is performed twice.
    var answered = AnsweredRequests()
    /// The number of requests that may still be answered in this turn.
    var remainingAnswers = 0

    var problems = ProblemLog()
    /// Whether the loop ends after this turn.
    var isStopping = false
    var shutdown = Shutdown.running

    /// - Parameters:
    ///   - pending: the batches in the outbox.
    ///   - calibration: the calibration in the outbox. It is not applied to other sensors.
    init(
        _ configuration: AgentConfiguration, pending: [Epoch: SequenceSet], calibration: SensorCalibration? = nil,
        at moment: Moment
    ) {
        self.configuration = configuration
        timeLine = TimeLine(at: moment)
        suspend = SuspendDetector(at: moment)
        coalescer = Coalescer(limits: configuration.coalescing)
        graph = SensorGraph(sources: configuration.sources, options: configuration.derived)
        publisher = graph.addSubscriber()
        runningSources = configuration.sources.count
        presence = PresenceState(heartbeat: configuration.heartbeat)
        motionSensors = Self.motionSensors(of: configuration.sources)
        if let calibration, calibration.sensors == motionSensors { presence.calibration = calibration.calibration }
        delivery = OutboxDelivery(
            waitsForCollector: configuration.acknowledgedBy == .collector, backlogRate: configuration.backlogRate)
        delivery.add(pending: pending, at: moment.boot)
    }

    /// - Returns: the actions to carry out, in order.
    mutating func handle(_ event: Event, at moment: Moment) -> [Action] {
        switch event {
        case .started: return updateRates(at: moment)
        case .turnBegan: return beginTurn(at: moment)
        case .item(let item): return handle(item, at: moment)
        case .link(let event, let packetLimit, let maxInFlight):
            return handle(event, packetLimit: packetLimit, maxInFlight: maxInFlight, at: moment)
        case .request(let payload, let isRetained): return enqueueRequest(payload, isRetained: isRetained)
        case .acknowledgement(let ack, let isNewerThanOutbox):
            return handle(ack, isNewerThanOutbox: isNewerThanOutbox, at: moment.boot)
        case .unreadableAcknowledgement(let error): return reportUnreadableAcknowledgement(error)
        case .stage(let stage): return run(stage, at: moment)
        case .shutdownBegan(let items): return beginShutdown(items, at: moment)
        case .written(let accepted, let droppedSamples):
            return didWrite(accepted, droppedSamples: droppedSamples, at: moment)
        case .writeFailed(let blocks, let error): return didFailToWrite(blocks, error, at: moment)
        case .calibrationStored(let request, let calibration, let error):
            return didStore(calibration, request, error, at: moment)
        case .flushed(let request, let batches): return replyToFlush(request, batches: batches)
        case .live(let position, let outcome):
            return didPublish(position, isBacklog: false, outcome, at: moment.boot)
        case .backlog(let position, let outcome):
            return didPublish(position, isBacklog: true, outcome, at: moment.boot)
        case .backlogNotRecorded(let error): return reportBacklogNotRecorded(error)
        case .presencePublished(let id):
            presence.didPublish(id: id, at: moment.boot)
            return []
        case .epochStarted(let epoch): return didStartEpoch(epoch)
        case .epochFailed(let error): return didFailToStartEpoch(error)
        case .outboxCompared(let ack, let isOlder): return didCompareOutbox(ack, isOlder: isOlder, at: moment.boot)
        case .epochReplaced(let epoch, let pending): return didReplaceEpoch(epoch, pending: pending)
        case .epochReplacementFailed(let error): return didFailToReplaceEpoch(error)
        }
    }

    private mutating func run(_ stage: Stage, at moment: Moment) -> [Action] {
        switch stage {
        case .restoredOutbox: return contradictingAck.map { [.compareOutbox($0)] } ?? []
        case .subscription: return retrySubscription(at: moment.boot)
        case .requests: return answerRequests()
        case .nextRequest: return answerNextRequest(at: moment)
        case .window: return write(coalescer.takeReady(at: moment.boot), at: moment)
        case .retransmission: return reviewDelivery(at: moment.boot)
        case .backlog: return beginBacklog()
        case .presence:
            guard isConnected, presence.isDue(at: moment.boot) else { return [] }
            return [.publishPresence(presence.report(at: timeLine.timestamp(boot: moment.boot)))]
        case .completion: return stopWhenComplete()
        case .shutdown: return continueShutdown(at: moment)
        }
    }

    /// Returns the deadline for the start of the next turn, in µs of the boot clock.
    func nextTurn(at boot: Int64) -> Int64 {
        guard requests.isEmpty else { return boot }
        let deadline = min(
            boot + Self.maxTurnInterval, coalescer.nextDeadline ?? .max,
            unwritable == nil ? delivery.removalDeadline ?? .max : .max,
            leases.nextExpiry ?? .max, clock.nextDeadline ?? .max)
        // A PUBACK opens the window, and begins a turn itself.
        return delivery.canSendBacklog
            ? min(deadline, boot + Self.backlogInterval) : deadline
    }

    private mutating func stopWhenComplete() -> [Action] {
        guard runningSources == 0, !isStopping else { return [] }
        if delivery.isEmpty, unsaved.isEmpty {
            isStopping = true
            // After a failure, there may have been no batch and no connection at all.
            return sourceError == nil
                ? [.log(.info, "all sources ended and all batches acknowledged")]
                : [.log(.info, "stopping: no source runs, and the outbox is empty")]
        }
        return problems.isNew("waiting") ? [.log(.info, "all sources ended, waiting for acknowledgements")] : []
    }
}
