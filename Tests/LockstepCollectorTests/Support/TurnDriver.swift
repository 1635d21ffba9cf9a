import Testing

@testable import LockstepCollector

/// Drives a turn machine with a simulated clock, and checks its actions.
struct TurnDriver {
    private(set) var now = ContinuousClock.now
    var machine: TurnMachine
    /// The start of the last turn.
    private(set) var turnStart: ContinuousClock.Instant

    init(_ limits: TurnLimits = TurnLimits()) {
        machine = TurnMachine(limits, at: now)
        turnStart = now
    }

    mutating func advance(_ duration: Duration) { now += duration }

    mutating func send(
        _ event: TurnMachine.Event, expecting action: TurnMachine.Action,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let result = machine.handle(event, at: now)
        #expect(result == action, sourceLocation: sourceLocation)
    }

    mutating func link(
        _ event: TurnMachine.LinkEvent, expecting action: TurnMachine.LinkAction? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let result = machine.handle(event, at: now)
        if let action { #expect(result == action, sourceLocation: sourceLocation) }
    }

    mutating func connect(devices: Int = 0, sourceLocation: SourceLocation = #_sourceLocation) {
        link(.connected(devices: devices), expecting: .startSession, sourceLocation: sourceLocation)
    }

    /// Starts a turn with something to read.
    mutating func wakeUp(
        expecting action: TurnMachine.Action, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        send(.wokeUp(hasUnsentData: false), expecting: action, sourceLocation: sourceLocation)
        if action == .read { turnStart = now }
    }

    /// Passes the result of a read.
    /// - Parameters:
    ///   - samples: the samples in the current group.
    ///   - unacknowledged: the number of messages that need an acknowledgement, or nil for all.
    mutating func read(
        messages: Int, samples: Int = 0, unacknowledged: Int? = nil, linkEvents: Int = 0,
        isStoreIdle: Bool = true, expecting action: TurnMachine.Action,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let result = TurnMachine.ReadResult(
            messages: messages, unacknowledged: unacknowledged ?? messages, linkEvents: linkEvents,
            pendingSamples: samples, isStoreIdle: isStoreIdle)
        send(.read(result), expecting: action, sourceLocation: sourceLocation)
    }

    /// Passes the result of a read, and after each pause, that nothing has arrived, until the turn ends reading.
    mutating func readAll(
        messages: Int, samples: Int = 0, isStoreIdle: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var result = TurnMachine.ReadResult(
            messages: messages, unacknowledged: messages, pendingSamples: samples, isStoreIdle: isStoreIdle)
        var action = machine.handle(.read(result), at: now)
        result.messages = 0
        result.unacknowledged = 0
        while case .pause(let end) = action {
            now = end
            send(.paused(isStoreIdle: isStoreIdle), expecting: .read, sourceLocation: sourceLocation)
            action = machine.handle(.read(result), at: now)
        }
        #expect(action == .review(advancingTime: true), sourceLocation: sourceLocation)
    }

    /// Runs the rest of a turn, from the event before its publication.
    mutating func endTurn(after event: TurnMachine.Event = .reviewed(.none)) {
        _ = machine.handle(event, at: now)
        _ = machine.handle(.published, at: now)
        let end = machine.handle(.flushed, at: now)
        #expect(end == .endTurn(maintenance: true))
    }

    /// Runs a turn without messages, and checks whether it commits.
    mutating func turn(
        _ urgency: TurnMachine.GroupUrgency, commits: Bool, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        send(.wokeUp(hasUnsentData: false), expecting: .read, sourceLocation: sourceLocation)
        turnStart = now
        let review = TurnMachine.Action.review(advancingTime: machine.isConnected)
        read(messages: 0, expecting: review, sourceLocation: sourceLocation)
        let action = machine.handle(.reviewed(urgency), at: now)
        #expect((action == .commit) == commits, sourceLocation: sourceLocation)
        if action == .commit { _ = machine.handle(.committed(next: nil), at: now) }
        endTurn(after: action == .commit ? .settled : .published)
    }

    /// Runs a turn without messages, and checks which states it publishes.
    mutating func turn(publishing states: Range<Int>, sourceLocation: SourceLocation = #_sourceLocation) {
        send(.wokeUp(hasUnsentData: false), expecting: .read, sourceLocation: sourceLocation)
        read(messages: 0, expecting: .review(advancingTime: machine.isConnected), sourceLocation: sourceLocation)
        send(
            .reviewed(.none), expecting: .publish(states: states, acknowledgements: machine.isConnected),
            sourceLocation: sourceLocation)
        send(.published, expecting: .flush, sourceLocation: sourceLocation)
        send(.flushed, expecting: .endTurn(maintenance: true), sourceLocation: sourceLocation)
    }

    /// Runs a turn with messages whose commit fails, over a connection, which is then abandoned.
    mutating func failCommit(messages: Int, sourceLocation: SourceLocation = #_sourceLocation) {
        wakeUp(expecting: .read, sourceLocation: sourceLocation)
        readAll(messages: messages, sourceLocation: sourceLocation)
        send(.reviewed(.urgent), expecting: .commit, sourceLocation: sourceLocation)
        send(.commitFailed, expecting: .rollBack, sourceLocation: sourceLocation)
        send(.rolledBack, expecting: .abandonConnection, sourceLocation: sourceLocation)
        send(.abandoned, expecting: .endTurn(maintenance: false), sourceLocation: sourceLocation)
    }

    /// Runs a turn with a commit, from the review after its last read.
    mutating func endTurnWithCommit(
        _ urgency: TurnMachine.GroupUrgency = .urgent, next: ContinuousClock.Instant? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        send(.reviewed(urgency), expecting: .commit, sourceLocation: sourceLocation)
        send(.committed(next: next), expecting: .settle, sourceLocation: sourceLocation)
        endTurn(after: .settled)
    }

    /// Runs a turn whose commit fails. Afterwards, the connection is dropped.
    mutating func stall() {
        _ = machine.handle(.wokeUp(hasUnsentData: false), at: now)
        _ = machine.handle(.read(TurnMachine.ReadResult()), at: now)
        let commit = machine.handle(.reviewed(.urgent), at: now)
        #expect(commit == .commit)
        let failure = machine.handle(.commitFailed, at: now)
        #expect(failure == .rollBack)
        if machine.handle(.rolledBack, at: now) == .abandonConnection {
            link(.disconnected(isTakenOver: false), expecting: .ignore)
            _ = machine.handle(.abandoned, at: now)
        }
    }
}
