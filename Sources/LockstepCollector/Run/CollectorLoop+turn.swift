import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepSupervision
import LockstepWire

extension CollectorLoop {
    /// Messages that are read before the next look at the clock.
    private static let readAtOnce = 100

    /// Lets more come, where the last turn began only just now.
    /// - Returns: whether it did.
    func gather() -> Bool {
        // Where the last turn found no message, a large one may be on its way.
        guard link.isUp, messagesRead > 0, !link.wantsWrite, !isTellingStates,
            let end = gathering.begin(after: began, now: .now)
        else { return false }
        link.rest(until: end)
        return true
    }

    /// Reads what came, commits it, and acknowledges it.
    /// - Parameter isLast: whether no other turn follows.
    func turn(isLast: Bool = false) {
        readTurn()
        if let subscribeAt, subscribeAt <= .now, link.isUp { subscribe() }
        moment = .now()
        // Cut off from the broker, the collector can't tell who is silent.
        if link.isUp { intake.tick(&book, at: moment) }
        if isCommitDue(isLast: isLast) {
            guard settle(intake.takeGroup(&book, at: moment)) else { return }
            book.commit()
            announceTransitions()
        }
        publishStates()
        moment = .now()
        for (device, ack) in link.isUp ? schedule.takeDue(at: moment.boot) : [] {
            publish(.ack, of: device, AcknowledgementJSON.encode(ack), qos: .atMostOnce)
        }
        report.publishIfDue(counting: fleet, over: link, at: moment)
        // Only now, after the commit, do the acknowledgements of what was read go out; of heartbeats that wait also without.
        for event in link.write() { handle(event) }
        gathering.note(messagesUnacknowledged, retained: messagesRetained, at: .now)
        writer.performMaintenance()
    }

    /// Reads what came, up to a turn, and hands what it has to the store whenever that waits for something to do.
    private func readTurn() {
        let limits = configuration.turn
        began = .now
        var partBegin = began
        let end = partBegin + limits.duration
        messagesRead = 0
        messagesUnacknowledged = 0
        messagesRetained = 0
        messagesAdded = 0
        samplesAdded = 0
        while messagesRead < limits.messages, samplesAdded + intake.waitingSamples < limits.samples {
            moment = .now()
            let before = messagesRead
            let events = link.read(limit: Self.readAtOnce) { self.intake.waitingSamples < limits.partSamples }
            for event in events { handle(event) }
            supervisor.turned(summary)
            // Without the connection nothing more that was read from it can be acknowledged.
            let now = ContinuousClock.now
            guard link.isUp, now < end else { return }
            let hasSamples = intake.waitingSamples >= limits.partSamples
            // A read that its limit ended may leave what no poll tells of: OpenSSL keeps the rest of a record.
            let isAllRead = messagesRead - before + events.count < Self.readAtOnce && !hasSamples
            if isAllRead, !waitForMore() { return }
            let hasPart = limits.isPart(
                messagesRead - messagesAdded, after: messagesAdded, elapsed: now - partBegin, of: end - partBegin)
            if hasSamples || (hasPart && writer.isIdle) {
                add()
                partBegin = now
            }
        }
    }

    /// Waits a moment for more, where that is probable.
    /// - Returns: whether something came.
    private func waitForMore() -> Bool {
        guard !isTellingStates, let pause = lull.begin(after: messagesUnacknowledged) else { return false }
        let start = ContinuousClock.now
        let hasCome = link.waitToRead(until: start + pause)
        lull.end(waited: .now - start, hasCome: hasCome)
        return hasCome
    }

    /// Hands what came to the store, which takes it in while the next is read.
    private func add() {
        messagesAdded = messagesRead
        guard !intake.group.isEmpty else { return }
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
        guard unwritten == nil, !group.runs.isEmpty || !group.dropped.isEmpty else { return }
        unwritten = IngestGroup(dropped: group.dropped)
        unwritten?.runs = group.runs
    }

    /// Whether there is anything to write that should not wait. That devices are still there, as their heartbeats say, is
    /// written along with the next that is more, or after about a second: of thousands each would else cost a commit. Where
    /// it is lost with a crash, the next heartbeat says it again.
    private func isCommitDue(isLast: Bool) -> Bool {
        if hasAdded || !intake.group.canWait { return true }
        guard !intake.group.isEmpty else { return false }
        let since = waitingSince ?? moment.boot
        waitingSince = since
        return isLast || moment.boot - since >= Self.longestWait
    }

    /// Writes the last group of a turn, with those that were added before.
    /// - Returns: false if they could not be written: then nothing of the turn may be acknowledged, and the broker has to
    ///   hand it out again.
    private func settle(_ group: IngestGroup) -> Bool {
        note(group)
        hasAdded = false
        waitingSince = nil
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
            if link.isUp { handle(link.abandon(MQTTError(.other, "the store can't be written"))) }
            return false
        }
    }
}
