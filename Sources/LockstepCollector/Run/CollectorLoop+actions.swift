import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire
import Logging

extension CollectorLoop {
    /// Carries out an action of a turn.
    /// - Returns: the event that results from it, or nil at the end of the turn.
    func perform(_ action: TurnMachine.Action) -> TurnMachine.Event? {
        switch action {
        case .read: return .read(read())
        case .pause(let end):
            link.waitForSignal(until: end)
            return .paused(isStoreIdle: writer.isIdle)
        case .handOver: return .handedOver(samples: handOver())
        case .subscribe:
            subscribe()
            return .subscribed
        case .review(let advancingTime):
            moment = .now()
            if advancingTime { intake.tick(&registry, at: moment) }
            // Before a share is taken over, the devices and states in the store are those of another owner.
            if ownership.mayRead {
                let recorded = rules.record(at: moment.wall) { action, event in
                    try intake.record(action, for: event, registry, at: moment)
                }
                intake.group.deliveries += recorded
                rules.advance(
                    &intake.group, isConnected: advancingTime, isInTransaction: machine.hasHandedOver, at: moment)
                if advancingTime {
                    intake.sessions.tick(
                        at: moment, isInTransaction: machine.hasHandedOver, numbers: writer.batchNumbers)
                }
            }
            if intake.sessions.hasChanges { return .reviewed(.urgent) }
            return .reviewed(intake.group.isEmpty ? .none : intake.group.isDeferrable ? .deferrable : .urgent)
        case .commit:
            let group = intake.takeGroup(&registry, at: moment)
            pending.add(group)
            writtenRuns.append(group.runs)
            // A collector that was stopped for a while notices it here. If it is stopped again before the rows arrive,
            // its token protects the store.
            let mayStore = ownership.mayStore {
                writer.waitForCommit()
                return Moment.now().boot
            }
            commitResult =
                mayStore
                ? writer.commit(adding: group)
                : .failure(ownership.shareProblem ?? ShareProblem("the share is not taken over"))
            if case .success = commitResult { return .committed(next: writer.nextCommit) }
            writtenRuns = []
            return .commitFailed
        case .settle:
            settle()
            return .settled
        case .rollBack:
            rollBack()
            return .rolledBack
        case .abandonConnection:
            handle(link.abandon(MQTTError(.other, "the store cannot be written")))
            reportStall()
            return .abandoned
        case .publish(let states, let acknowledgements):
            publish(states: states, acknowledgements: acknowledgements)
            return .published
        case .flush:
            flush()
            return .flushed
        case .endTurn(let maintenance):
            if maintenance { writer.performMaintenance() }
            return nil
        }
    }

    private func read() -> TurnMachine.ReadResult {
        moment = .now()
        readResult = TurnMachine.ReadResult()
        let partSamples = configuration.turn.partSamples
        let events = link.read(limit: TurnMachine.readLimit) {
            self.ownership.mayRead && self.intake.pendingSamples < partSamples
        }
        for event in events { handle(event) }
        supervisor.didTurn(summary)
        readResult.linkEvents = events.count
        readResult.pendingSamples = intake.pendingSamples
        readResult.isStoreIdle = writer.isIdle
        return readResult
    }

    /// Hands the current group to the store.
    /// - Returns: the number of its samples, or nil if the group is empty.
    private func handOver() -> Int? {
        guard !intake.group.isEmpty else { return nil }
        let group = intake.takeGroup(&registry, at: moment)
        pending.add(group)
        let samples = group.runs.reduce(0) { $0 + $1.samples.count }
        // Long runs are not used again, and a turn may have many.
        if samples <= group.runs.count * RunPool.maxSamples { writtenRuns.append(group.runs) }
        writer.add(group)
        return samples
    }

    private func settle() {
        guard case .success(let result) = commitResult else { return }
        report.count(result, rejected: pending.rejected, unstored: intake.takeUnstoredRejections())
        let boot = Moment.now().boot
        let lastReadEnd = boot - Int64(machine.lastReadEnd.duration(to: .now) / .microseconds(1))
        for scope in result.scopes {
            schedule.schedule(scope, after: lastReadEnd, at: boot)
            intake.didCommit(scope)
        }
        let returned = registry.commit()
        intake.sessions.commit()
        rules.settle(result.deliveries)
        for stored in result.acknowledged { confirm(stored) }
        for change in pending.transitions { announce(change) }
        settleForgotten(returned)
        pending.clear()
        // Nothing else refers to the runs now.
        while let runs = writtenRuns.popLast() { intake.recycle(runs) }
        // Release the dictionaries of the result.
        commitResult = .success(IngestResult())
    }

    private func rollBack() {
        guard case .failure(let error) = commitResult else { return }
        // The broker delivers all messages again. They lead to the same transitions with the same sequence numbers.
        registry.rollback()
        intake.sessions.rollback()
        // What rules have concluded from a transition stays, and so does the transition.
        // A share is lost, and its next claim reads the store, which may not answer now.
        ownership.lose(ShareProblem(error))
        if !ownership.endsWithConnection, let stored = try? writer.lifecycles() { registry.adopt(stored, at: .now()) }
        pending.rollBack()
        intake.discardGroup()
        intake.restoreAllowances()
        // The broker delivers the requests again.
        _ = intake.forgetting.takePending()
        rules.rollBack()
        report.stall("\(error)")
    }

    /// Replaces the last will of the connection that was just dropped, if it says that the collector is offline. The next
    /// connection may take some seconds, and the session cannot be used meanwhile: its messages could not be stored.
    private func reportStall() {
        // A share is lost with its connection.
        guard !ownership.endsWithConnection, report.isStalled, report.willSaysOffline else { return }
        _ = separateReport.publish(report.status, replacesOther: false, until: .now + .seconds(3))
    }

    private func announce(_ change: DeviceTransition) {
        let transition = change.transition
        var metadata: Logger.Metadata = [
            "device": "\(change.device)", "to": "\(transition.to.rawValue)", "reason": "\(transition.reason)",
        ]
        if let from = transition.from { metadata["from"] = "\(from.rawValue)" }
        logger.info("state changed", metadata: metadata)
        transitions.yield(change)
        publishState(transition, of: change.device)
    }

    private func publish(states: Range<Int>, acknowledgements: Bool) {
        for device in announcedDevices[states] {
            guard let transition = registry.lastTransition(of: device) else { continue }
            publishState(transition, of: device)
        }
        moment = .now()
        if acknowledgements { publishRefusals() }
        for (device, ack) in acknowledgements ? schedule.takeDue(at: moment.boot, isStopping: isStopping()) : [] {
            publish(.ack, of: device, AcknowledgementJSON.encode(ack), qos: .atMostOnce)
        }
        rules.publish(at: moment.wall) { delivery, isRetained in
            try link.publish(
                MQTTMessage(
                    topic: topic(of: delivery.event.device, .event),
                    payload: EventJSON.encode(delivery.event), qos: .atLeastOnce, isRetained: isRetained))
        }
        publishSessions()
        // Under load, each review is in the middle of a transaction. After the messages: what is read changes sessions, which
        // are published after the next commit.
        if ownership.mayRead { intake.sessions.readNumbers(at: .now(), numbers: writer.batchNumbers) }
        reportMessagesOutside()
        report.publishIfDue(counting: fleet, over: link, at: moment)
    }

    /// Reports batches that were rejected for now to their agents. The messages are not retained, because they must not
    /// replace an acknowledgement.
    private func publishRefusals() {
        for refusal in intake.refusedBatches.take(at: moment.boot) {
            let ack = Acknowledgement(
                epoch: refusal.position.epoch, through: 0,
                refusal: .init(seq: refusal.position.seq, reason: refusal.reason))
            publish(.ack, of: refusal.device, AcknowledgementJSON.encode(ack), qos: .atMostOnce, isRetained: false)
        }
    }

    /// Sends the queued packets, unless the share was lost.
    func flush() {
        // A commit may take so long that the lease ends meanwhile. The next owner then publishes the states.
        guard ownership.maySend(at: { Moment.now().boot }) else { return }
        for event in link.write() { handle(event) }
    }

    func publishState(_ transition: LifecycleTransition, of device: DeviceAddress) {
        publish(.state, of: device, StateJSON.encode(transition), qos: .atLeastOnce)
    }

    /// Publishes a message of a device. An empty payload deletes the retained one.
    func publish(
        _ channel: Channel, of device: DeviceAddress, _ payload: [UInt8], qos: QualityOfService,
        isRetained: Bool = true
    ) {
        do {
            let id = try link.publish(
                MQTTMessage(
                    topic: configuration.root.topic(device, channel), payload: payload, qos: qos,
                    isRetained: isRetained))
            if let id, qos == .atLeastOnce { handle(.queued(id: id)) }
        } catch {
            logger.error(
                "publishing failed",
                metadata: ["device": "\(device)", "channel": "\(channel.name)", "error": "\(error)"])
        }
    }

    /// Publishes that an acknowledgement is stored. A client that misses this repeats its request.
    func confirm(_ stored: StoredAcknowledgement) {
        do {
            let id = try link.publish(
                MQTTMessage(
                    topic: topic(of: stored.key.device, .eventAcknowledged),
                    payload: EventAcknowledgementJSON.encode(stored), qos: .atLeastOnce))
            if let id { handle(.queued(id: id)) }
        } catch {
            logger.error(
                "publishing failed",
                metadata: ["channel": "\(Channel.eventAcknowledged.name)", "error": "\(error)"])
        }
    }

    /// Returns the topic for events of a device, or of this machine.
    private func topic(of device: DeviceAddress?, _ channel: Channel) -> String {
        device.map { configuration.root.topic($0, channel) }
            ?? configuration.root.topic(
                group: configuration.groups.first ?? .standard, collector: configuration.id, channel)
    }
}
