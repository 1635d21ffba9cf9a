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
        case .connected(_, let sessionPresent): didConnect(sessionPresent: sessionPresent, at: boot)
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
        case .subscribed(let id, let isGranted):
            guard let filter = subscribing.removeValue(forKey: id), !isGranted else { break }
            if refusedFilters.isEmpty, subscriptionRetry == nil {
                logger.error(
                    "subscription refused by broker",
                    metadata: [
                        "filter": "\(filter)",
                        "hint": "give this user the rights of a gateway, see broker-config/production.acl",
                    ])
            }
            refusedFilters.append(filter)
            // The access rights may be corrected, or a cluster node may just have failed.
            subscriptionRetry = boot + Self.subscriptionRetryInterval
        case .published(let id, let refusal):
            guard !didPublishPresence(id, refusal: refusal, at: boot) else { return }
            if let refusal {
                log(delivery.didRefuse(id, refusal, at: boot))
            } else {
                delivery.didReceivePuback(id, at: boot)
            }
        }
    }

    private func didConnect(sessionPresent: Bool, at boot: Int64) {
        intake.packetLimit = link.maxPacketSize
        let now = Moment.now().wall
        do { session = try outbox.batches.startSession(at: now) } catch {
            session = max(now.microseconds, session + 1)
            logger.error("cannot write session to outbox", metadata: ["error": "\(error)"])
        }
        delivery.didConnect(maxInFlight: link.maxInFlight, at: boot)
        (subscribing, refusedFilters, subscriptionRetry) = ([:], [], nil)
        for index in devices.indices {
            // What the broker has already acknowledged is not repeated for a sender that was not heard: the device may have
            // been deleted since.
            if let presence = outbox.senders[index].presence, devices[index].isHeard || !presence.isPublished {
                devices[index].needsPresence = true
            }
            if delivery.isActive(index) { subscribe(index, at: boot) }
        }
        subscribeToForeignMessages()
        // After the subscriptions: whoever waits for this line may publish.
        logger.report(link, connectedTo: configuration.broker, sessionPresent: sessionPresent)
        listening.begin(at: boot)
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
            for filter in filters { try subscribe(to: filter) }
            try link.unsubscribe(from: earlier)
        } catch {
            logger.error("cannot subscribe", metadata: ["error": "\(error)"])
        }
    }

    /// Subscribes to a topic of foreign messages or of acknowledgements.
    func subscribe(to filter: String) throws {
        let id = try link.subscribe(to: filter, qos: deviceOfAckTopic[filter] == nil ? .atLeastOnce : .atMostOnce)
        if let id { subscribing[id] = filter }
    }

    /// Tries refused subscriptions again. Others stay, because the broker would send their retained messages again.
    func retrySubscriptions(at boot: Int64) {
        guard let retry = subscriptionRetry, boot >= retry, link.isUp else { return }
        subscriptionRetry = boot + Self.subscriptionRetryInterval
        let filters = refusedFilters
        refusedFilters = []
        do { for filter in filters { try subscribe(to: filter) } } catch {
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
        presencesInFlight.removeAll()
        delivery.didDisconnect()
    }

    func receive(_ message: IncomingMessage) {
        let topic = message.topic
        if let index = deviceOfAckTopic[topic] {
            receiveAcknowledgement(message, of: index)
            return
        }
        // One byte above the limit is enough to recognise a message that is too large.
        let limit = configuration.maxPayload * (configuration.adapters.map(\.payloadFactor).max() ?? 1)
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
            if let doubt = intake.takeClockDoubt(), clockLog.take(Self.loggedClockDoubts, at: Moment.now().boot) {
                logger.warning(
                    "samples in the future accepted, because the gateway's clock may be wrong",
                    metadata: [
                        "device": "\(doubt.device)", "sample_time": "\(doubt.sample)", "gateway_time": "\(doubt.now)",
                        "hint": "check the clock of the gateway, and that of the device",
                    ])
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

    /// How often a doubt about the gateway's clock is logged: once a minute.
    private static let loggedClockDoubts = Allowance.Rate(burst: 1, interval: 60_000_000)
    /// How many refused messages are logged.
    private static let loggedRefusals = Allowance.Rate(burst: 100, interval: 2_000_000)

    private func receiveAcknowledgement(_ message: IncomingMessage, of index: Int) {
        do {
            let ack = try AcknowledgementJSON.decode(Data(message.payload))
            if delivery.handle(ack, of: index, at: Moment.now().boot) { devices[index].needsPresence = true }
        } catch {
            logger.warning(
                "acknowledgement unreadable",
                metadata: ["device": "\(outbox.devices[index].address)", "error": "\(error)"])
        }
    }
}
