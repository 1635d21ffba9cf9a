import FoundationEssentials
import LockstepAgent
import LockstepMQTT
import LockstepModel
import LockstepWire
import Logging

/// The connection, foreign messages and acknowledgements.
extension GatewayLoop {
    func handle(_ event: BrokerLink.Event) {
        let boot = Moment.now().boot
        switch event {
        case .connected(let version, let sessionPresent): didConnect(version, sessionPresent, at: boot)
        case .disconnected(let error, _):
            didDisconnect()
            guard error.code == .takenOver else {
                logger.warning(
                    "connection lost, samples kept in outbox",
                    metadata: ["broker": "\(configuration.broker)", "error": "\(error)"])
                break
            }
            let pause = takeoverPause.didLoseSession(at: boot)
            logger.error(
                "another gateway uses the same id, staying disconnected for a while",
                metadata: [
                    "id": "\(configuration.id)", "broker": "\(configuration.broker)", "error": "\(error)",
                    "pause": "\(pause / 1_000_000)s", "hint": "stop one of the two, or give each its own --id",
                ])
        case .failed(let error, _):
            logger.warning(
                "cannot connect to broker, retrying",
                metadata: ["broker": "\(configuration.broker)", "error": "\(error)"])
        case .subscribed(_, let isGranted):
            if !isGranted {
                logger.error(
                    "subscription refused by broker",
                    metadata: ["hint": "give this user the rights of a gateway, see broker-config/production.acl"])
            }
        case .published(let id, let refusal):
            guard !didPublishPresence(id, refusal: refusal, at: boot) else { return }
            guard let index = inFlight.removeValue(forKey: id) else { return }
            if let refusal {
                deliveries[index].delivery.didRefuse(id, at: boot)
                linkWindow.didRefuse(id)
                logger.error(
                    "message refused by broker",
                    metadata: ["device": "\(deliveries[index].address)", "error": "\(refusal)"])
            } else {
                _ = deliveries[index].delivery.didReceivePuback(id, at: boot)
                linkWindow.didReceivePuback(id, at: boot)
            }
        }
    }

    private func didConnect(_ version: MQTTVersion, _ sessionPresent: Bool, at boot: Int64) {
        intake.packetLimit = link.maximumPacketSize
        let now = Moment.now().wall
        do { session = try outbox.startSession(at: now) } catch {
            session = max(now.microseconds, session + 1)
            logger.error("cannot write session to outbox", metadata: ["error": "\(error)"])
        }
        for index in deliveries.indices {
            deliveries[index].isSubscribed = false
            deliveries[index].delivery.didConnect(at: boot)
            // What the broker has already acknowledged is not repeated for a sender that was not heard: the device may have
            // been deleted since.
            if let presence = outbox.devices[index].presence, deliveries[index].isHeard || !presence.isPublished {
                deliveries[index].needsPresence = true
            }
            if deliveries[index].isActive { subscribe(index) }
        }
        subscribeToForeignMessages()
        // After the subscriptions: whoever waits for this line may publish.
        logger.info(
            "connected to broker",
            metadata: [
                "broker": "\(configuration.broker)", "mqtt": "\(version.rawValue)",
                "session": sessionPresent ? "resumed" : "new",
            ])
        let unanswered = link.takeUnansweredAddresses()
        if !unanswered.isEmpty {
            logger.warning(
                "an address of the broker's host does not answer, using another one",
                metadata: ["broker": "\(configuration.broker)", "addresses": "\(unanswered.joined(separator: ","))"])
        }
        listening.begin(at: boot)
        backlogStart = boot + Self.acknowledgementDelay
        nextHealth = 0
        publishPresences(at: now)
    }

    private func subscribeToForeignMessages() {
        let filters = configuration.adapters.flatMap(\.topicFilters)
        var earlier: [String] = []
        // Before the broker knows them: otherwise, a subscription that is not recorded could never be ended.
        do { earlier = try outbox.replaceFilters(with: filters) } catch {
            logger.error(
                "cannot record subscriptions in outbox, those of earlier settings stay",
                metadata: ["error": "\(error)"])
        }
        do {
            for filter in filters { try link.subscribe(to: filter, qos: .atLeastOnce) }
            try link.unsubscribe(from: earlier)
        } catch {
            logger.error("cannot subscribe", metadata: ["error": "\(error)"])
        }
    }

    /// Logs the messages of topics that no format has, at most once a minute.
    func reportUnhandledMessages() {
        guard let report = unhandled.takeReport(at: Moment.now().boot) else { return }
        logger.warning(
            "messages of other topics dropped",
            metadata: [
                "messages": "\(report.messages)", "topic": "\(report.topic.prefix(200))",
                "hint": """
                the session of this id had subscriptions of earlier settings, which are ended now; to use such messages, \
                start the gateway with their format again before it connects
                """,
            ])
    }

    private func didDisconnect() {
        inFlight.removeAll()
        linkWindow = LinkWindow()
        presencesInFlight.removeAll()
        backlogStart = .max
        for index in deliveries.indices { deliveries[index].delivery.didDisconnect() }
    }

    /// Subscribes to the acknowledgements of a device.
    func subscribe(_ index: Int) {
        guard !deliveries[index].isSubscribed, link.isUp else { return }
        do {
            try link.subscribe(to: deliveries[index].ackTopic, qos: .atMostOnce)
            deliveries[index].isSubscribed = true
        } catch {
            logger.error("cannot subscribe", metadata: ["error": "\(error)"])
        }
    }

    func receive(_ message: IncomingMessage) {
        let topic = message.topic
        if let index = deviceOfAckTopic[topic] {
            receiveAcknowledgement(message, of: index)
            return
        }
        // One byte above the limit is enough to recognise a message that is too large.
        let limit = configuration.maximumPayload * (configuration.adapters.map(\.payloadFactor).max() ?? 1)
        let foreign = ForeignMessage(
            origin: .topic(topic), payload: Array(message.payload.prefix(limit + 1)),
            isRetained: message.isRetained, receivedAt: Moment.now().wall)
        guard intake.adapter(of: foreign) != nil else {
            // A late acknowledgement of a device that this gateway no longer has is none of them.
            if case .device(_, .ack) = try? configuration.root.parse(topic) { return }
            unhandled.add(topic)
            return
        }
        if message.needsAcknowledgement { hasUnacknowledged = true }
        _ = try? ingest(foreign)
    }

    /// Ends the wait of parts of accelerations, and logs those that are left out.
    func expireParts(isAll: Bool) {
        for (device, unpaired) in intake.expireParts(at: Moment.now().wall, isAll: isAll) {
            leftOut += Int64(unpaired)
            logger.warning(
                "accelerations without gravity left out",
                metadata: [
                    "device": "\(outbox.devices[device].address)", "parts": "\(unpaired)",
                    "hint": "switch on Gravity, or Total Acceleration, in Sensor Logger",
                ])
        }
    }

    /// Accepts a request of another thread. Its sender waits for the commit.
    func accept(_ item: GatewayInbox.Item) {
        do throws(Refusal) {
            switch item.content {
            case .message(let message): waiting.append((item, try ingest(message)))
            case .translation(let message):
                let receipt = try count(from: message.source) { intake throws(Refusal) in
                    try intake.ingest(message, outbox: outbox)
                }
                waiting.append((item, receipt))
            }
        } catch {
            item.reply(.refused(error))
        }
    }

    private func ingest(_ message: ForeignMessage) throws(Refusal) -> RequestReceipt {
        let source =
            switch message.origin {
            case .topic(let topic): topic
            case .request(let facts): facts.path
            }
        return try count(from: source) { intake throws(Refusal) in try intake.ingest(message, outbox: outbox) }
    }

    /// Counts and logs what the intake does with a message.
    private func count(
        from source: String,
        _ body: (inout GatewayIntake) throws(Refusal) -> (omissions: [String], receipt: RequestReceipt)
    ) throws(Refusal) -> RequestReceipt {
        do {
            let (omissions, receipt) = try body(&intake)
            accepted += 1
            for (device, finding) in intake.takeFindings() {
                switch finding {
                case .missing(let count):
                    logger.warning(
                        "foreign messages missing", metadata: ["device": "\(device)", "messages": "\(count)"])
                case .repeated: logger.info("foreign message repeated", metadata: ["device": "\(device)"])
                }
            }
            leftOut += Int64(omissions.count)
            if let first = omissions.first {
                logger.warning(
                    "parts of a message left out",
                    metadata: ["from": "\(source)", "parts": "\(omissions.count)", "error": "\(first)"])
            }
            return receipt
        } catch {
            refused += 1
            logRefusal(error, from: source)
            throw error
        }
    }

    /// Logs a refused message. A sender may invent any number of names, so that each message would be a line of its own.
    private func logRefusal(_ error: Refusal, from source: String) {
        guard refusalLog.take(Self.loggedRefusals, at: Moment.now().boot) else {
            unloggedRefusals += 1
            return
        }
        var metadata: Logger.Metadata = [
            "from": "\(source.prefix(200))", "reason": "\(error.kind.rawValue)", "error": "\(error)",
        ]
        if unloggedRefusals > 0 { metadata["not_logged_before"] = "\(unloggedRefusals)" }
        unloggedRefusals = 0
        logger.warning("message refused", metadata: metadata)
    }

    /// How many refused messages are logged.
    private static let loggedRefusals = Allowance.Rate(burst: 100, interval: 2_000_000)

    private func receiveAcknowledgement(_ message: IncomingMessage, of index: Int) {
        let boot = Moment.now().boot
        do {
            let ack = try AcknowledgementJSON.decode(Data(message.payload))
            if let refusal = ack.refusal { return report(refusal, of: ack.epoch, to: index, at: boot) }
            deliveries[index].handle(ack, at: boot)
            let stored = ack.stored
            let pending = outbox.devices[index].pending[ack.epoch]?.intersection(stored) ?? SequenceSet()
            guard !pending.isEmpty else { return }
            deliveries[index].removable[ack.epoch, default: SequenceSet()].formUnion(pending)
            removalDeadline = removalDeadline ?? boot + Self.removalDelay
        } catch {
            logger.warning(
                "acknowledgement unreadable",
                metadata: ["device": "\(deliveries[index].address)", "error": "\(error)"])
        }
    }

    /// Logs that a collector refuses the batches of a device for now, at most once in ten minutes.
    private func report(_ refusal: Acknowledgement.Refusal, of epoch: Epoch, to index: Int, at boot: Int64) {
        let position = BatchPosition(epoch: epoch, seq: refusal.seq)
        guard deliveries[index].delivery.contains(position),
            boot - (deliveries[index].refusalLoggedAt ?? .min / 2) >= 600_000_000
        else { return }
        deliveries[index].refusalLoggedAt = boot
        logger.warning(
            "collector refuses batches, kept in outbox",
            metadata: [
                "device": "\(deliveries[index].address)", "epoch": "\(epoch)", "seq": "\(refusal.seq)",
                "error": "\(refusal.reason)",
            ])
    }
}
