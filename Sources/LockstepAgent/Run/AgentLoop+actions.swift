import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepSensors
import LockstepWire
import Logging

extension AgentLoop {
    /// Carries out an action and passes its result to the state.
    /// - Parameter moment: the time of the event that led to the action.
    func perform(_ action: AgentState.Action, at moment: Moment) {
        switch action {
        case .log(let level, let message, let metadata): logger.log(level: level, message, metadata: metadata)
        case .setSourceRates(let rates):
            for source in configuration.sources {
                source.setRates(rates.filter { source.streams.contains($0.key) })
            }
        case .write(let blocks, let removable): write(blocks, removing: removable, at: moment)
        case .publishLive(let entry):
            let outcome =
                state.delivery.canPublishLive(of: 0) ? publish(entry, isBacklog: false, at: moment) : .notPublished
            send(.live(entry.position, outcome))
        case .publishBacklog: publishBacklog(at: moment)
        case .publishPresence(let presence):
            if let id = presencePublisher.publish(presence, over: link) { send(.presencePublished(id: id), at: moment) }
        case .subscribe: subscribe()
        case .reply(let reply): publish(reply)
        case .describe(let id, let description): describe(description, id: id)
        case .storeCalibration(let calibration, let request): store(calibration, request, at: moment)
        case .startEpoch: startEpoch(at: moment)
        case .compareOutbox(let ack): send(.outboxCompared(ack, isOlder: outbox.isOlder(than: ack)), at: moment)
        case .replaceEpoch(let ack): replaceEpoch(after: ack, at: moment)
        case .stopBacklog: outbox.didDisconnect()
        case .reconnect:
            state.clock.didDisconnect()
            link.reconnect()
            outbox.didDisconnect()
        case .resume(let event): send(event, at: moment)
        case .close(let removable, let deadline): close(removing: removable, at: moment, deadline: deadline)
        }
    }

    private func write(
        _ blocks: [SampleBlock], removing removable: [Epoch: SequenceSet], at moment: Moment
    ) {
        let event: AgentState.Event
        do {
            let additions = blocks.map { Outbox.Addition(samples: $0) }
            let accepted = try outbox.accept(additions, removing: [0: removable], at: moment.boot)
            event = .written(accepted, droppedSamples: outbox.droppedSamples)
        } catch {
            event = .writeFailed(blocks, error)
        }
        if let restoration = outbox.takeRestoration() {
            logger.warning("\(restoration)", metadata: ["outbox": "\(configuration.outboxPath)"])
        }
        send(event, at: moment)
    }

    private func publish(_ entry: Outbox.Entry, isBacklog: Bool, at moment: Moment) -> OutboxDelivery.Outcome {
        do {
            let qos = state.delivery.quality(of: entry.position, isBacklog: isBacklog, at: moment.boot)
            let payload = entry.payload(isBacklog: isBacklog)
            let message = MQTTMessage(
                topic: configuration.root.topic(configuration.address, .stream(entry.stream)), payload: payload,
                qos: qos,
                contentType: BatchEncoding(of: payload).contentType)
            guard let id = try link.publish(message) else { return .notPublished }
            outbox.didPublish(entry.position)
            return .published(id: id, bytes: payload.count, qos: qos)
        } catch {
            return error.code == .tooLarge ? .tooLarge : .failed(error)
        }
    }

    private func publishBacklog(at moment: Moment) {
        while let (_, position) = state.delivery.nextBacklogBatch(at: moment.boot) {
            let outcome = publishBacklog(position, at: moment)
            send(.backlog(position, outcome), at: moment)
            guard outcome.allowsMore else { return }
        }
    }

    private func publishBacklog(_ position: BatchPosition, at moment: Moment) -> OutboxDelivery.Outcome {
        do {
            guard let entry = try outbox.entry(at: position) else { return .missing }
            do { try outbox.willSendBacklog() } catch { send(.backlogNotRecorded(error), at: moment) }
            return publish(entry, isBacklog: true, at: moment)
        } catch {
            return .failed(error)
        }
    }

    private func subscribe() {
        do {
            try link.subscribe(to: configuration.root.topic(configuration.address, .ack), qos: .atMostOnce)
            try link.subscribe(to: configuration.root.topic(configuration.address, .command), qos: .atLeastOnce)
            subscribeToClock()
        } catch {
            logger.error("cannot subscribe", metadata: ["error": "\(error)"])
        }
    }

    private func publish(_ reply: AgentReply) {
        var reply = reply
        if case .flushed = reply.outcome {
            reply.newest = outbox.pending.compactMapValues(\.last)
            reply.newest?[outbox.epoch] = outbox.lastSeq
        }
        do {
            _ = try link.publish(
                MQTTMessage(
                    topic: configuration.root.topic(configuration.address, .commandReply),
                    payload: ReplyJSON.encode(reply)))
        } catch {
            logger.error("cannot publish reply", metadata: ["error": "\(error)"])
        }
    }

    private func describe(_ description: AgentDescription, id: String?) {
        var description = description
        description.epoch = outbox.epoch
        description.outboxBatches = Int(outbox.pending.values.reduce(0) { $0 + $1.count })
        description.outboxBytes = outbox.bytes
        description.droppedSamples += outbox.droppedSamples
        publish(AgentReply(id: id, outcome: .described(description)))
    }

    private func store(_ calibration: SensorCalibration?, _ request: AgentRequest, at moment: Moment) {
        var failure: OutboxError?
        do { try outbox.store(calibration) } catch {
            failure = error as? OutboxError ?? OutboxError(path: configuration.outboxPath, error)
        }
        send(.calibrationStored(request, calibration, error: failure), at: moment)
    }

    private func startEpoch(at moment: Moment) {
        let event: AgentState.Event
        do {
            try outbox.startEpoch()
            event = .epochStarted(outbox.epoch)
        } catch {
            event = .epochFailed(error)
        }
        send(event, at: moment)
    }

    private func replaceEpoch(after ack: Acknowledgement, at moment: Moment) {
        let event: AgentState.Event
        do {
            try outbox.startEpoch(after: ack) { reportProgress() }
            event = .epochReplaced(outbox.epoch, pending: outbox.pending)
        } catch {
            event = .epochReplacementFailed(error)
        }
        send(event, at: moment)
    }

    private func close(removing removable: [Epoch: SequenceSet], at moment: Moment, deadline: Int64) {
        // Otherwise the next start would publish these batches again. A failure has no other effect.
        _ = try? outbox.commit([], removing: [0: removable], at: moment.boot)
        link.stop(until: .now + .microseconds(max(0, deadline - Moment.now().boot)))
    }
}
