import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepWire
import Logging

extension AgentLoop {
    /// Writes blocks to the outbox, with what was acknowledged meanwhile, and publishes them live.
    func accept(_ blocks: [SampleBlock], at moment: Moment) {
        let isRemovalDue = removeBy.map { moment.boot >= $0 } ?? false
        guard !blocks.isEmpty || isRemovalDue || (!unsaved.isEmpty && problems.isRetryDue("outbox", at: moment.boot))
        else { return }
        let now = line.timestamp(boot: moment.boot)
        do {
            let (entries, dropped) = try outbox.commit(appending: unsaved + blocks, removing: removed, at: now)
            unsaved = []
            removed = [:]
            removeBy = nil
            problems.mend("outbox")
            if dropped.samples > 0 { report(dropped) }
            for entry in entries { publishLive(entry) }
        } catch {
            keepUnsaved(blocks)
            // What was acknowledged leaves a little later: a removal that stays due would keep the loop spinning.
            if removeBy != nil { removeBy = moment.boot + 1_000_000 }
            if problems.isNew("outbox") { logger.error("\(error); samples wait in memory") }
        }
    }

    /// Sends backlog within its byte rate.
    func publishBacklog(at moment: Moment) {
        guard link.isUp, delivery.hasBacklog, moment.boot >= backlogFrom else { return }
        while delivery.flyingCount < Self.mostFlyingBacklog, budget.isOpen(at: moment.boot) {
            let positions = delivery.nextBacklog(limit: 1)
            guard let position = positions.first else { return }
            do {
                guard let entry = try outbox.entry(at: position) else {
                    delivery.forget([position.epoch: SequenceSet([position.seq...position.seq])])
                    continue
                }
                let payload = BatchJSON.markingLate(entry.payload)
                guard let id = try publish(payload, of: entry.stream) else { return }
                delivery.didPublish(position, as: id)
                budget.spend(payload.count)
            } catch {
                if problems.isNew("backlog") { logger.error("backlog can't be sent: \(error)") }
                return
            }
        }
    }

    func handle(_ event: BrokerLink.Event) {
        let boot = Moment.now().boot
        switch event {
        case .connected(let version, _):
            logger.info("connected to \(configuration.broker) with MQTT \(version.rawValue)")
            problems.mend("broker")
            delivery.didConnect(at: boot)
            didConnect()
        case .disconnected(let error, _):
            delivery.didDisconnect()
            backlogFrom = .max
            if error.code == .takenOver { return reportRival() }
            logger.warning("\(configuration.broker): \(error); samples are kept in the outbox")
            _ = problems.isNew("broker")
        case .failed(let error, _):
            if problems.isNew("broker \(error.code)") {
                logger.warning("\(configuration.broker): \(error); trying on, samples are kept in the outbox")
            }
        case .subscribed(_, let isGranted):
            // The retained acknowledgement comes now: it may make most of the backlog unnecessary.
            backlogFrom = min(backlogFrom, boot + 500_000)
            if !isGranted, problems.isNew("subscription") {
                logger.error("the broker refused a subscription: this user must be allowed to read its own ack")
            }
        case .published(let id, let refusal):
            if let refusal {
                delivery.didRefuse(id)
                if problems.isNew("refusal") { logger.error("\(refusal): check the access rights of this user") }
            } else {
                announcement.didConfirm(id)
            }
            if refusal == nil, let position = delivery.didConfirm(id), configuration.acknowledgedBy == .broker {
                remove([position.epoch: SequenceSet([position.seq...position.seq])], at: boot)
                delivery.forget(removed)
            }
        }
    }

    func handle(_ message: IncomingMessage) {
        // The acknowledgement is all that an agent subscribes to.
        guard configuration.acknowledgedBy == .collector else { return }
        do {
            let boot = Moment.now().boot
            let ack = try AcknowledgementJSON.decode(Data(message.payload))
            delivery.handle(ack, at: boot)
            remove([ack.epoch: ack.stored], at: boot)
            backlogFrom = min(backlogFrom, boot)
        } catch {
            if problems.isNew("ack") { logger.warning("an acknowledgement can't be read: \(error)") }
        }
    }

    private func didConnect() {
        do {
            try link.subscribe(to: configuration.root.topic(configuration.address, .ack), qos: .atMostOnce)
        } catch {
            logger.error("\(error)")
        }
        announcement.didConnect(at: Moment.now(), on: line, over: link)
    }

    private func publishLive(_ entry: Outbox.Entry) {
        guard delivery.flyingCount < Self.mostFlying, let id = try? publish(entry.payload, of: entry.stream) else {
            return delivery.enqueue(entry.position)
        }
        delivery.didPublish(entry.position, as: id)
    }

    private func publish(_ payload: [UInt8], of stream: SensorStream) throws -> Int32? {
        try link.publish(
            MQTTMessage(topic: configuration.root.topic(configuration.address, .stream(stream)), payload: payload))
    }

    private func remove(_ batches: [Epoch: SequenceSet], at boot: Int64) {
        for (epoch, set) in batches { removed[epoch, default: SequenceSet()].formUnion(set) }
        // With the next window; by itself only when there is none.
        removeBy = removeBy ?? boot + 2_000_000
    }

    private func report(_ dropped: Outbox.Dropped) {
        delivery.forget(dropped.batches)
        announcement.isDue = true
        logger.warning(
            "the outbox is full: the oldest \(dropped.samples) samples were dropped, \(outbox.droppedSamples) so far")
    }

    private func keepUnsaved(_ blocks: [SampleBlock]) {
        unsaved += blocks
        var count = unsaved.reduce(0) { $0 + $1.count }
        while count > Self.mostUnsavedSamples, let oldest = unsaved.first {
            unsaved.removeFirst()
            count -= oldest.count
            announcement.unsavedDropped += Int64(oldest.count)
        }
    }

    private func reportRival() {
        guard problems.isNew("rival") else { return }
        logger.error(
            """
            another agent runs as device \(configuration.address): give one of them another --device; \
            samples are kept in the outbox
            """)
    }
}
