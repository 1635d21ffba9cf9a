import LockstepMQTT

/// The decisions of the collector's main loop: when to read, wait, hand over groups, commit, acknowledge and roll back.
///
/// A state machine without I/O. The loop passes it an event, carries out the returned action, and passes the result of
/// the action as the next event, until the turn ends. It reads no clock; the time is a parameter.
///
/// One event covers up to ``readLimit`` messages, so that the machine adds no cost per message. No event or action
/// allocates memory.
///
/// ```text
/// wake-up → read ⇄ pause, hand over → review → commit → settle → publish → flush → end
///                                       │        └ fails: roll back → abandon the connection → end
///                                       └ nothing to store: publish → flush → end
/// ```
///
/// What holds in each turn:
/// - No message is acknowledged before it is on disk: libmosquitto queues the acknowledgements of the messages that it has
///   read, and only ``Action/flush`` sends them. A flush follows a successful commit, or a review that found nothing to store
///   except heartbeats.
/// - All groups that were handed over are part of the next commit. If it fails, none of them is stored: the connection is
///   dropped with its queued acknowledgements, and the broker delivers the messages again.
/// - States, answers and acknowledgements of batches are queued after the commit on which they depend, and sent by the same
///   flush.
/// - While the store cannot be written, one connection reports this, and no other is made before a commit has succeeded.
/// - A turn ends: by time, by the number of messages or samples, or because nothing arrived in a pause. What remains is read
///   in the next one.
/// - A last turn commits heartbeats, too.
struct TurnMachine {
    typealias Instant = ContinuousClock.Instant

    /// An input of the machine: a wake-up, or the result of the last action.
    enum Event {
        /// The loop woke up: the link is readable, a deadline passed, or another thread signalled.
        /// - Parameter hasUnsentData: whether the socket has not accepted all outgoing data yet.
        case wokeUp(hasUnsentData: Bool)
        /// The collector is stopping, and the last turn starts.
        case stopping
        case read(ReadResult)
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
        /// Read up to ``readLimit`` messages.
        case read
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

    struct ReadResult {
        var messages = 0
        /// The number of messages of this read that need an MQTT acknowledgement.
        var unacknowledged = 0
        /// The number of connection events of this read.
        var linkEvents = 0
        /// The number of samples in the current group.
        var pendingSamples = 0
        /// Whether the store has written all parts that were handed over.
        var isStoreIdle = true
    }

    enum GroupUrgency {
        /// The group is empty.
        case none
        /// The group holds only heartbeats. They can wait for the next commit: with thousands of devices, each
        /// heartbeat would otherwise cost a commit. If a crash loses one, the next heartbeat replaces it.
        case deferrable
        /// The group has to be committed now.
        case urgent
    }

    /// An event of the connection to the broker.
    enum LinkEvent {
        /// - Parameter devices: the number of devices whose states the broker may have lost.
        case connected(devices: Int)
        /// - Parameter isTakenOver: whether another client has connected with the same client id.
        case disconnected(isTakenOver: Bool)
        /// A connection attempt failed.
        case failed(MQTTError.Code)
        case subscriptionRefused
        /// A QoS 1 publish was queued.
        case queued(id: Int32)
        /// The broker acknowledged a publish.
        case acknowledged(id: Int32)
        /// The wait before the next connection attempt is over.
        /// - Parameter hasTrialGroup: whether there are samples to test the store with.
        case reconnectDue(hasTrialGroup: Bool)
        /// The attempt to commit the samples to test the store with has ended.
        case triedCommit(succeeded: Bool)
    }

    /// The action that the loop carries out after a connection event.
    enum LinkAction: Equatable {
        case ignore
        /// Subscribe, restart the timeouts of all life cycles, and publish the collector's health.
        case startSession
        /// Log that another client uses the same client id.
        case reportTakeover
        /// Log that the connection was lost.
        case reportDisconnect
        /// Log that no connection can be established.
        case reportFailure
        /// Log that the broker refused the subscription.
        case reportRefusedSubscription
        /// Connect, with a last will that reports whether the store is stalled.
        case connect
        /// Commit the samples to test the store with.
        case tryCommit
        case stayDisconnected
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
    /// The least number of messages in flight that common brokers allow: of states, before the collector has to read its
    /// responses, and of messages to the collector, before it has to acknowledge them.
    static let minBrokerWindow = 10
    /// The time after which a refused subscription is retried. Until then, the access rights may have been corrected,
    /// or a failed cluster node may have recovered.
    static let resubscribeInterval = Duration.seconds(5)

    private let limits: TurnLimits
    /// The number of unacknowledged messages after which nothing arrived in the last pause that was in vain. If a broker waits
    /// for their acknowledgement, it stops at the same number each time.
    private var futileAt: Int?

    // The current turn.
    /// Whether the socket had not accepted all outgoing data at the start.
    private var hasUnsentData = false
    private var readStart: Instant
    /// The time at which reading has to end.
    private var readEnd: Instant
    /// The time at which the reading of the previous turn ended. What has arrived since then did not wait for longer.
    private(set) var lastReadEnd: Instant
    private var lastRead: Instant
    /// The time of the read after which the last part was handed over.
    private var partStart: Instant
    /// Whether the collector stops after this turn.
    private var isLastTurn = false
    private var messages = 0
    private var handedOverMessages = 0
    /// The number of messages of this turn that need an MQTT acknowledgement.
    private var unacknowledged = 0
    /// The number of samples in the current group.
    private var pendingSamples = 0
    private var handedOverSamples = 0
    /// The number of messages and samples of this turn up to the last pause.
    private var messagesAtPause = 0
    private var samplesAtPause = 0
    /// Whether the last pause was one of a high rate.
    private var isPauseShort = false

    // The store.
    /// Whether groups were handed over since the last commit.
    private(set) var hasHandedOver = false
    /// The time since which heartbeats have been waiting for a commit.
    private var deferredSince: Instant?
    /// The time before which the store accepts no commit, or nil if it does not limit them.
    private var earliestCommit: Instant?
    /// Whether the last commit failed.
    private var isStalled = false
    /// Whether the broker knows that the store is stalled, or will know from the last will when the connection is
    /// dropped.
    private var isStallReported = false

    // The connection.
    private(set) var isConnected = false
    private var resubscribeAt: Instant?
    /// The devices whose states have to be published after a connect, as indices into the list made at connect.
    private var pendingStates = 0..<0
    /// The ids of the QoS 1 publishes that the broker has not acknowledged.
    private var inFlight: Set<Int32> = []
    private var lastReportedFailure: MQTTError.Code?

    init(_ limits: TurnLimits, at now: Instant) {
        self.limits = limits
        readStart = now
        readEnd = now
        lastReadEnd = now
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

    mutating func handle(_ event: Event, at now: Instant) -> Action {
        switch event {
        case .wokeUp(let hasUnsentData):
            self.hasUnsentData = hasUnsentData
            return startReading(at: now)
        case .stopping:
            isLastTurn = true
            return startReading(at: now)
        case .read(let result): return didRead(result, at: now)
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
        case .flushed: return .endTurn(maintenance: true)
        }
    }

    // MARK: Reading, and handing parts to the store

    private mutating func startReading(at now: Instant) -> Action {
        lastReadEnd = lastRead
        readStart = now
        readEnd = now + limits.duration
        lastRead = now
        partStart = now
        messages = 0
        handedOverMessages = 0
        unacknowledged = 0
        handedOverSamples = 0
        (messagesAtPause, samplesAtPause, isPauseShort) = (0, 0, false)
        return .read
    }

    private mutating func didRead(_ result: ReadResult, at now: Instant) -> Action {
        messages += result.messages
        unacknowledged += result.unacknowledged
        pendingSamples = result.pendingSamples
        lastRead = now
        // Messages of a lost connection can no longer be acknowledged, so stop reading.
        guard isConnected, now < max(readEnd, earliestCommit ?? readEnd) else { return endReading(at: now) }
        let isPartFull = pendingSamples >= limits.partSamples
        // A read that ended at a limit may leave data that no poll reports: OpenSSL buffers the rest of a record.
        let isDrained = result.messages + result.linkEvents < Self.readLimit && !isPartFull
        guard isDrained else { return continueReading(isStoreIdle: result.isStoreIdle, at: now) }
        return pauseEnd(at: now).map { .pause(until: $0) } ?? endReading(at: now)
    }

    private mutating func didHandOver(samples: Int?, at now: Instant) -> Action {
        if let samples {
            hasHandedOver = true
            handedOverSamples += samples
            pendingSamples = 0
        }
        partStart = lastRead
        return readMore(at: now)
    }

    /// Hands over the current group if it is large enough for a part, or reads more.
    private mutating func continueReading(isStoreIdle: Bool, at now: Instant) -> Action {
        let isPart = limits.isPartReady(
            messages - handedOverMessages, after: handedOverMessages, elapsed: lastRead - partStart,
            of: readEnd - partStart)
        guard pendingSamples >= limits.partSamples || (isPart && isStoreIdle) else { return readMore(at: now) }
        handedOverMessages = messages
        return .handOver
    }

    /// Returns the time until which to read nothing, so that more messages share a commit, or nil if the turn should not pause.
    ///
    /// A commit of many messages costs little more than one of few (group commit). So a turn pauses while messages arrive, up
    /// to a limit, and at a low rate until a commit is worth it. If the store limits its commits, the turn pauses until the
    /// store accepts the next one, and at a high rate also later: each commit is then an insert and a file for each table.
    private mutating func pauseEnd(at now: Instant) -> Instant? {
        guard messages > 0 else { return nil }
        let samples = handedOverSamples + pendingSamples
        let arrived = messages - messagesAtPause
        // The rest of a window that the broker is sending arrives at once.
        let isRateHigh =
            arrived >= limits.burst || samples - samplesAtPause >= limits.worthwhileSamples
            || arrived > 0 && unacknowledged < (futileAt ?? 0)
        let wasPauseShort = isPauseShort
        (messagesAtPause, samplesAtPause, isPauseShort) = (messages, samples, isRateHigh)
        let end = now + (isRateHigh ? limits.shortPause : limits.pause)
        if let earliestCommit { return now < earliestCommit ? min(end, earliestCommit) : isRateHigh ? end : nil }
        if arrived == 0, !wasPauseShort {
            futileAt = unacknowledged
            return nil
        }
        let isWindowFull = unacknowledged >= Self.minBrokerWindow && unacknowledged == futileAt
        let gatheringEnd = readStart + limits.gathering
        guard isRateHigh || samples < limits.worthwhileSamples, now < gatheringEnd else { return nil }
        guard !isWindowFull, !isPublishingStates, !hasUnsentData else { return nil }
        return min(end, gatheringEnd)
    }

    private mutating func readMore(at now: Instant) -> Action {
        let maxSamples = earliestCommit == nil ? limits.samples : limits.samplesOfLimitedCommit
        let isBelowLimits = messages < limits.messages && handedOverSamples + pendingSamples < maxSamples
        return isBelowLimits ? .read : endReading(at: now)
    }

    private mutating func endReading(at now: Instant) -> Action {
        guard isConnected, let time = resubscribeAt, time <= now else { return .review(advancingTime: isConnected) }
        resubscribeAt = nil
        return .subscribe
    }

    // MARK: Commit, then settle or roll back, then publish

    private mutating func isCommitDue(_ urgency: GroupUrgency, at now: Instant) -> Bool {
        if hasHandedOver { return true }
        switch urgency {
        case .none: return false
        case .urgent: return true
        case .deferrable:
            let since = deferredSince ?? now
            deferredSince = since
            return isLastTurn || now - since >= Self.maxDeferral
        }
    }

    private mutating func didCommit() -> Action {
        hasHandedOver = false
        deferredSince = nil
        isStalled = false
        return .settle
    }

    /// Rolls back: no message of this turn may be acknowledged, so that the broker delivers them again.
    private mutating func didFailToCommit() -> Action {
        hasHandedOver = false
        deferredSince = nil
        isStalled = true
        return .rollBack
    }

    /// Publishes the next portion of the pending states, and the acknowledgements and health that are due.
    private mutating func publish() -> Action {
        guard isConnected else { return .publish(states: 0..<0, acknowledgements: false) }
        let portion = pendingStates.prefix(Self.maxStatesPerTurn)
        pendingStates = portion.upperBound..<pendingStates.upperBound
        return .publish(states: portion, acknowledgements: true)
    }

    // MARK: The connection, and when to connect while the store is stalled

    /// - Returns: the action to carry out at once.
    mutating func handle(_ event: LinkEvent, at now: Instant) -> LinkAction {
        switch event {
        case .connected(let devices):
            isConnected = true
            resubscribeAt = nil
            lastReportedFailure = nil
            inFlight.removeAll()
            pendingStates = 0..<devices
            return .startSession
        case .disconnected(let isTakenOver):
            isConnected = false
            if isTakenOver { return .reportTakeover }
            // The collector drops the connection itself while the store is stalled. The stall is already logged.
            return isStalled ? .ignore : .reportDisconnect
        case .failed(let failure):
            defer { lastReportedFailure = failure }
            return failure == lastReportedFailure ? .ignore : .reportFailure
        case .subscriptionRefused:
            resubscribeAt = now + Self.resubscribeInterval
            return .reportRefusedSubscription
        case .queued(let id): inFlight.insert(id)
        case .acknowledged(let id): inFlight.remove(id)
        case .reconnectDue(let hasTrialGroup):
            // While the store is stalled, a connection would only receive messages that cannot be stored. One
            // connection is made to report the stall. After that, the collector connects when the store is writable
            // again.
            let needsTrial = isStalled && isStallReported && !hasHandedOver && hasTrialGroup
            return needsTrial ? .tryCommit : connect()
        case .triedCommit(let succeeded):
            isStalled = !succeeded
            return succeeded ? connect() : .stayDisconnected
        }
        return .ignore
    }

    private mutating func connect() -> LinkAction {
        isStallReported = isStalled
        return .connect
    }
}
