import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepSensors
import LockstepWire
import Logging

extension AgentLoop {
    /// Writes blocks to the outbox, with what was acknowledged meanwhile, and publishes them live.
    /// - Parameter isLast: try it even if it was tried in vain just now.
    func accept(_ blocks: [SampleBlock], at moment: Moment, isLast: Bool = false) {
        let isRemovalDue = removeBy.map { moment.boot >= $0 } ?? false
        guard !blocks.isEmpty || !unsaved.isEmpty || isRemovalDue else { return }
        // What failed is not tried, and encoded, again with each window.
        guard isLast || !isOutboxFailing || problems.isRetryDue("outbox", at: moment.boot) else {
            return keepUnsaved(blocks)
        }
        let all = unsaved + blocks
        unsaved = []
        do {
            let accepted = try outbox.accept(all, removing: removed, at: line.timestamp(boot: moment.boot))
            removed = [:]
            removeBy = nil
            keepUnsaved(accepted.unwritten)
            if accepted.dropped.samples > 0 { report(accepted.dropped, of: accepted.wasDiskFull ? "disk" : "outbox") }
            for entry in accepted.entries { publishLive(entry) }
            isOutboxFailing = accepted.error != nil
            if let error = accepted.error { tell(error) } else { problems.mend("outbox") }
        } catch {
            keepUnsaved(all)
            isOutboxFailing = true
            tell(error)
        }
        if isOutboxFailing { _ = problems.isRetryDue("outbox", at: moment.boot) }
    }

    private func tell(_ error: any Error) {
        if problems.isNew("outbox") { logger.error("\(error); samples wait in memory") }
    }

    /// Sends backlog within its byte rate.
    func publishBacklog(at moment: Moment) {
        guard link.isUp, contradiction == nil, moment.boot >= backlogFrom else { return }
        var read = 0
        while delivery.takesBacklog, read < Self.mostReadBacklog, budget.isOpen(at: moment.boot) {
            read += 1
            let positions = delivery.nextBacklog(limit: 1)
            guard let position = positions.first else { return }
            do {
                guard let entry = try outbox.entry(at: position) else {
                    delivery.forget([position.epoch: SequenceSet([position.seq...position.seq])])
                    continue
                }
                prepareBacklog()
                let payload = BatchEncoding.markingLate(entry.payload)
                guard let id = try publish(payload, of: entry.stream) else { return }
                delivery.didPublishBacklog(position, as: id, at: moment.boot)
                outbox.didPublish(position)
                budget.spend(payload.count)
            } catch let error as MQTTError where error.code == .tooLarge {
                setAside(position)
            } catch {
                if problems.isNew("backlog") { logger.error("backlog can't be sent: \(error)") }
                return
            }
        }
    }

    /// Where the disk can't be written the backlog can be read all the same, and the collector has room for it.
    private func prepareBacklog() {
        do { try outbox.willSendBacklog() } catch {
            if problems.isNew("outbox") { logger.error("\(error); backlog is sent all the same") }
        }
    }

    func handle(_ event: BrokerLink.Event) {
        let boot = Moment.now().boot
        switch event {
        case .connected(let version, _):
            logger.info("connected to \(configuration.broker) with MQTT \(version.rawValue)")
            problems.mend("broker")
            problems.mend("too large")
            coalescer.packetLimit = link.maximumPacketSize
            delivery.didConnect(at: boot)
            didConnect()
        case .disconnected(let error, _):
            delivery.didDisconnect()
            outbox.didDisconnect()
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
            // The rights may be mended, or a cluster may just have lost a node.
            if !isGranted { subscribeAt = boot + 5_000_000 }
            if !isGranted, problems.isNew("subscription") {
                logger.error(
                    "the broker refused a subscription: this user must be allowed to read its own ack and command")
            }
        case .published(let id, let refusal):
            if let refusal {
                delivery.didRefuse(id, at: boot)
                if problems.isNew("refusal") { logger.error("\(refusal): check the access rights of this user") }
            } else {
                announcement.didConfirm(id)
            }
            if refusal == nil, let position = delivery.didConfirm(id, at: boot), configuration.acknowledgedBy == .broker
            {
                remove([position.epoch: SequenceSet([position.seq...position.seq])], at: boot)
                delivery.forget(removed)
            }
        }
    }

    func handle(_ message: IncomingMessage) {
        if message.topic == configuration.root.topic(configuration.address, .command) {
            // A retained request would be done again on every connection. The others wait until all is read: what they
            // lead to is not for the inside of a callback.
            // Of one that is too long a piece is enough to see that.
            if !message.isRetained { requests.append(Data(message.payload.prefix(RequestJSON.maxBytes + 1))) }
        } else {
            handleAcknowledgement(message)
        }
    }

    private func handleAcknowledgement(_ message: IncomingMessage) {
        guard configuration.acknowledgedBy == .collector else { return }
        do {
            let boot = Moment.now().boot
            let ack = try AcknowledgementJSON.decode(Data(message.payload))
            // It leads to another connection, which is not for the inside of a callback.
            guard !outbox.isOlder(than: ack) else {
                contradiction = ack
                return
            }
            delivery.handle(ack, at: boot)
            remove([ack.epoch: ack.stored], at: boot)
            backlogFrom = min(backlogFrom, boot)
        } catch {
            if problems.isNew("ack") { logger.warning("an acknowledgement can't be read: \(error)") }
        }
    }

    private func didConnect() {
        subscribe()
        announcement.didConnect(at: Moment.now(), on: line, over: link)
    }

    func subscribe() {
        subscribeAt = nil
        do {
            try link.subscribe(to: configuration.root.topic(configuration.address, .ack), qos: .atMostOnce)
            try link.subscribe(to: configuration.root.topic(configuration.address, .command), qos: .atLeastOnce)
        } catch {
            logger.error("\(error)")
        }
    }

    private func publishLive(_ entry: Outbox.Entry) {
        do {
            guard delivery.flyingCount < Delivery.mostFlying, let id = try publish(entry.payload, of: entry.stream)
            else {
                return delivery.enqueue(entry.position)
            }
            delivery.didPublish(entry.position, as: id, at: Moment.now().boot)
            outbox.didPublish(entry.position)
        } catch let error as MQTTError where error.code == .tooLarge {
            setAside(entry.position)
        } catch {
            delivery.enqueue(entry.position)
        }
    }

    /// One batch that the broker does not take must not hold up those behind it.
    private func setAside(_ position: BatchPosition) {
        delivery.setAside(position)
        guard problems.isNew("too large") else { return }
        logger.error(
            """
            batch \(position.seq) of epoch \(position.epoch) is larger than the broker takes: it stays in the outbox, as \
            will others like it; raise the broker's maximum packet size
            """)
    }

    private func publish(_ payload: [UInt8], of stream: SensorStream) throws -> Int32? {
        try link.publish(
            MQTTMessage(
                topic: configuration.root.topic(configuration.address, .stream(stream)), payload: payload,
                contentType: BatchEncoding(of: payload).contentType))
    }

    private func remove(_ batches: [Epoch: SequenceSet], at boot: Int64) {
        for (epoch, set) in batches { removed[epoch, default: SequenceSet()].formUnion(set) }
        // With the next window; by itself only when there is none.
        removeBy = removeBy ?? boot + 2_000_000
    }

    private func report(_ dropped: Outbox.Dropped, of what: String) {
        delivery.forget(dropped.batches)
        announcement.isDue = true
        let total = outbox.droppedSamples
        if dropped.agedSamples > 0 {
            let days = configuration.outboxLimits.age / 86_400_000_000
            let limit = days > 0 ? "\(days) d" : "\(configuration.outboxLimits.age / 1_000_000) s"
            logger.warning(
                "\(dropped.agedSamples) samples could not be delivered within \(limit) and were dropped, \(total) so far"
            )
        }
        let most = dropped.samples - dropped.agedSamples
        if most > 0 { logger.warning("the \(what) is full: the oldest \(most) samples were dropped, \(total) so far") }
    }

    private func keepUnsaved(_ blocks: [SampleBlock]) {
        guard !blocks.isEmpty else { return }
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
