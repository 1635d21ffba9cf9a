import LockstepMQTT

/// The decisions of the collector's main loop: when to read, wait, hand over groups, commit, acknowledge and roll back.
///
/// A state machine without I/O. The loop passes it an event, carries out the returned action, and passes the result of
/// the action as the next event, until the turn ends. It reads no clock; the time is a parameter.
///
/// One event covers up to ``readLimit`` messages, so that the machine adds no cost per message. No event or action
/// allocates memory.
///
/// The order of a turn guarantees that no message is acknowledged before it is on disk: libmosquitto queues the
/// acknowledgements of the messages it has read, and only ``Action/flush`` sends them. A flush follows a successful
/// commit, or a review that found nothing to store except heartbeats.
struct TurnMachine {
    typealias Instant = ContinuousClock.Instant

    /// An input of the machine: a wake-up, or the result of the last action.
    enum Event {
        /// The loop woke up: the link is readable, a deadline passed, or another thread signalled.
        /// - Parameter hasUnsentData: whether the socket has not accepted all outgoing data yet.
        case wokeUp(isReadable: Bool, hasUnsentData: Bool)
        /// The collector is stopping, and the last turn starts.
        case stopping
        case lingered
        case read(ReadResult)
        case waited(isReadable: Bool, isStoreIdle: Bool)
        case paused(isStoreIdle: Bool)
        /// - Parameter samples: the number of samples handed over, or nil if the group was empty.
        case handedOver(samples: Int?)
        case subscribed
        case reviewed(GroupUrgency)
        /// - Parameter next: the time before which the store accepts no other commit, or nil if it does not limit them.
        case committed(next: Instant?)
        case commitFailed
        case settled
        case rolledBack
        case abandoned
        case published
        case flushed
    }

    /// The next step of the loop.
    enum Action: Equatable {
        /// Read nothing until the given time.
        case linger(until: Instant)
        /// Read up to ``readLimit`` messages.
        case read
        /// Wait until the link is readable, but at most for the given time.
        case waitToRead(Duration)
        /// Read nothing until the given time, and then continue the turn.
        case pause(until: Instant)
        /// Hand the current group to the store, which writes it in parallel.
        case handOver
        /// Subscribe again after a refusal.
        case subscribe
        /// Determine the urgency of the current group. Before that, advance the time of the life cycles if requested.
        case review(advancingTime: Bool)
        /// Write the current group and commit it with all groups that were handed over.
        case commit
        /// After a commit: make the life-cycle changes permanent, announce transitions, report rejections, schedule
        /// acknowledgements.
        case settle
        /// After a failed commit: revert the life cycles, discard the group, report the stall.
        case rollBack
        /// Drop the connection without sending anything, so that the broker delivers all unacknowledged messages again.
        case abandonConnection
        /// Publish the states of a range of the devices that were known at connect, the acknowledgements whose deadline
        /// has passed, and the collector's health.
        case publish(states: Range<Int>, acknowledgements: Bool)
        /// Send the queued packets, including the MQTT acknowledgements of all messages read.
        case flush
        /// Start the next turn. Before that, start the store's maintenance if requested; it continues while the loop is
        /// idle.
        case endTurn(maintenance: Bool)
    }

    /// The result of one read.
    struct ReadResult {
        /// The number of messages of this read.
        var messages = 0
        /// The number of messages of this read that need an MQTT acknowledgement.
        var unacknowledged = 0
        /// The number of retained messages among the unacknowledged ones.
        var retained = 0
        /// The number of connection events of this read.
        var linkEvents = 0
        /// The number of samples in the current group.
        var pendingSamples = 0
        /// Whether the store has written all parts that were handed over.
        var isStoreIdle = true
    }

    /// The urgency of committing the current group.
    enum GroupUrgency {
        /// The group is empty.
        case none
        /// The group holds only heartbeats. They can wait for the next commit: with thousands of devices, each
        /// heartbeat would otherwise cost a commit. If a crash loses one, the next heartbeat replaces it.
        case deferrable
        /// The group has to be committed now.
        case urgent
    }

    /// The maximum number of messages of one read.
    static let readLimit = 100
    /// The maximum time for which heartbeats wait for another reason to commit.
    static let maxDeferral = Duration.seconds(1)
    /// The maximum time between two turns, if nothing wakes the loop.
    static let maxIdle = Duration.milliseconds(500)
    /// The maximum number of states published in one turn. One call of libmosquitto reads as many packets as there are
    /// publishes in flight, regardless of the read limit.
    static let maxStatesPerTurn = 500
    /// The number of states in flight that any broker accepts before the collector has to read its responses.
    static let minBrokerWindow = 10

    let limits: TurnLimits
    var linger: CommitLinger
    var idleGap: IdleGap

    // The current turn.
    /// The time of the wake-up, at which a linger starts.
    var lingerStart: Instant
    /// The time at which reading started.
    var readStart: Instant
    /// The time at which reading has to end.
    var readEnd: Instant
    /// The time of the last read.
    var lastRead: Instant
    /// The time of the read after which the last part was handed over.
    var partStart: Instant
    /// Whether the collector stops after this turn.
    var isLastTurn = false
    /// The number of messages of this turn.
    var messages = 0
    /// The number of messages of this turn that were handed over to the store.
    var handedOverMessages = 0
    /// The number of messages of this turn that need an MQTT acknowledgement.
    var unacknowledged = 0
    /// The number of retained messages among the unacknowledged ones.
    var retained = 0
    /// The number of samples in the current group.
    var pendingSamples = 0
    /// The number of samples of this turn that were handed over to the store.
    var handedOverSamples = 0
    /// The number of messages and samples of this turn up to the last pause.
    var messagesAtPause = 0
    var samplesAtPause = 0

    // The store.
    /// Whether groups were handed over since the last commit.
    var hasHandedOver = false
    /// The time since which heartbeats have been waiting for a commit.
    var deferredSince: Instant?
    /// The time before which the store accepts no commit, or nil if it does not limit them.
    var earliestCommit: Instant?
    /// Whether the last commit failed.
    var isStalled = false
    /// Whether the broker knows that the store is stalled, or will know from the last will when the connection is
    /// dropped.
    var isStallReported = false

    // The connection.
    var isConnected = false
    /// The time at which a refused subscription is retried.
    var resubscribeAt: Instant?
    /// The devices whose states have to be published after a connect, as indices into the list made at connect.
    var pendingStates = 0..<0
    /// The ids of the QoS 1 publishes that the broker has not acknowledged.
    var inFlight: Set<Int32> = []
    /// The last reported reason of a failed connection attempt.
    var lastReportedFailure: MQTTError.Code?

    init(_ limits: TurnLimits, at now: Instant) {
        self.limits = limits
        linger = CommitLinger(at: now)
        idleGap = IdleGap(limits)
        lingerStart = now
        readStart = now
        readEnd = now
        lastRead = now
        partStart = now
    }

    /// Whether the broker may be waiting for the collector to read its responses to published states.
    var isPublishingStates: Bool { !pendingStates.isEmpty || inFlight.count > Self.minBrokerWindow }

    /// Returns the maximum time to wait for the next turn.
    /// - Parameter acknowledgement: the time until the next acknowledgement is due. It is ignored without a connection,
    ///   because an acknowledgement that cannot be sent would make the loop spin.
    func maxWait(untilAcknowledgement acknowledgement: Duration?) -> Duration {
        guard isConnected, let acknowledgement else { return Self.maxIdle }
        return max(.zero, min(Self.maxIdle, acknowledgement))
    }

    /// Processes an event of a turn.
    /// - Returns: the next action.
    mutating func handle(_ event: Event, at now: Instant) -> Action {
        switch event {
        case .wokeUp(let isReadable, let hasUnsentData):
            lingerStart = now
            if isReadable, let end = lingerEnd(hasUnsentData: hasUnsentData, at: now) { return .linger(until: end) }
            idleGap.beginTurn(hasLingered: false)
            return startReading(at: now)
        case .lingered:
            idleGap.beginTurn(hasLingered: true)
            return startReading(at: now, after: lingerStart)
        case .stopping:
            isLastTurn = true
            return startReading(at: now)
        case .read(let result): return didRead(result, at: now)
        case .waited(let isReadable, let isStoreIdle):
            return didWait(isReadable: isReadable, isStoreIdle: isStoreIdle, at: now)
        case .paused(let isStoreIdle): return continueReading(isStoreIdle: isStoreIdle, at: now)
        case .handedOver(let samples): return didHandOver(samples: samples, at: now)
        case .subscribed: return .review(advancingTime: isConnected)
        case .reviewed(let urgency): return isCommitDue(urgency, at: now) ? .commit : publish()
        case .committed(let next):
            earliestCommit = next
            return didCommit()
        case .commitFailed: return didFailToCommit()
        case .settled: return publish()
        case .rolledBack: return isConnected ? .abandonConnection : .endTurn(maintenance: false)
        case .abandoned: return .endTurn(maintenance: false)
        case .published: return .flush
        case .flushed:
            linger.record(
                unacknowledged, samples: handedOverSamples + pendingSamples, retained: retained, at: now)
            return .endTurn(maintenance: true)
        }
    }
}
