import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire
import Logging

extension CollectorLoop {
    /// Passes an event of the link to the machine, and logs it.
    func handle(_ event: BrokerLink.Event) {
        switch event {
        case .connected(_, let sessionPresent):
            logger.report(link, connectedTo: configuration.broker, sessionPresent: sessionPresent)
            didConnect()
            ownership.didConnect()
            warnIfUnchecked()
            takeOver()
            guard !ownership.hasEnded else { return }
            intake.earlierSubscriptions.connected(sessionPresent: sessionPresent)
            announcedDevices = registry.devices
            rules.didConnect(at: Moment.now().boot)
            intake.sessions.didConnect()
            perform(machine.handle(.connected(devices: announcedDevices.count), at: .now))
            moment = .now()
            for message in earlyMessages { message.withMessage(ingest) }
            earlyMessages = []
        case .disconnected(let error, let delay):
            retryDelay = delay
            ownership.lose(ShareProblem(error))
            rules.didDisconnect()
            perform(machine.handle(.disconnected(isTakenOver: error.code == .takenOver), at: .now), error: error)
        case .failed(let error, _):
            ownership.didFailToConnect(error)
            perform(machine.handle(.failed(error.code), at: .now), error: error)
        case .subscribed(_, let isGranted):
            if !isGranted { handle(.subscriptionRefused) }
        case .published(let id, let refusal):
            handle(.acknowledged(id: id))
            rules.didPublish(id: id, refusal: refusal)
            guard let refusal else { return }
            logger.error(
                "message refused by broker",
                metadata: [
                    "error": "\(refusal)",
                    "hint":
                        "allow this user to publish to the topics of collectors in broker-config/production.acl",
                ])
        }
    }

    /// Passes an event to the machine and carries out its action.
    /// - Returns: whether to connect. Only meaningful for ``TurnMachine/LinkEvent/reconnectDue(hasTrialGroup:)``.
    @discardableResult
    func handle(_ event: TurnMachine.LinkEvent) -> Bool { perform(machine.handle(event, at: .now)) }

    @discardableResult
    private func perform(_ action: TurnMachine.LinkAction, error: MQTTError? = nil) -> Bool {
        var metadata: Logger.Metadata { ["broker": "\(configuration.broker)", "error": error.map { "\($0)" } ?? ""] }
        switch action {
        case .ignore, .stayDisconnected: return false
        case .connect: return true
        case .startSession: startSession()
        case .reportTakeover:
            logger.error(
                "another collector uses the same id",
                metadata: [
                    "id": "\(configuration.id)", "retry_in": "\(retryDelay.components.seconds)s",
                    "hint": """
                    probably a collector was started with the same --id and another --store: stop one of the two, or \
                    give each its own --id
                    """,
                ])
        case .reportDisconnect: logger.warning("connection to broker lost", metadata: metadata)
        case .reportFailure: logger.warning("cannot connect to broker, retrying", metadata: metadata)
        case .reportRefusedSubscription:
            logger.error(
                "subscription refused by broker",
                metadata: ["hint": "allow this user to read '\(configuration.root)/#'"])
        case .tryCommit: return tryCommit()
        }
        return false
    }

    private func startSession() {
        subscribe()
        endEarlierSubscriptions()
        registry.restartSilence(at: .now())
        report.publish(report.status, counting: fleet, over: link, at: .now())
    }

    func subscribe() {
        do {
            for filter in configuration.scope.filters { try link.subscribe(to: filter, qos: .atLeastOnce) }
        } catch {
            logger.error("subscribing failed", metadata: ["error": "\(error)"])
        }
    }

    /// Ends subscriptions that the session has from a start with other groups or another root. Their messages are those of
    /// another collector, or are delivered twice.
    func endEarlierSubscriptions() {
        guard !intake.earlierSubscriptions.pending.isEmpty, link.isUp else { return }
        do { try link.unsubscribe(from: intake.earlierSubscriptions.takePending()) } catch {
            logger.error("unsubscribing failed", metadata: ["error": "\(error)"])
        }
    }

    /// Logs the messages outside of the collector's scope, at most once a minute.
    func reportMessagesOutside() {
        guard let report = intake.earlierSubscriptions.takeReport(at: moment.boot) else { return }
        logger.warning(
            "messages outside of the root and groups of this collector, not stored and not acknowledged",
            metadata: [
                "messages": "\(report.messages)", "topic": "\(report.topic.plain)",
                "hint": """
                the session of this id had subscriptions of earlier settings, which are ended now; agents send the \
                batches again to the collector of their group
                """,
            ])
    }

    /// Tests whether the store can be written again.
    /// - Returns: whether to connect.
    private func tryCommit() -> Bool {
        guard let group = pending.trialGroup else { return true }
        switch writer.commit(adding: group) {
        case .success(let result):
            pending.clearTrialGroup()
            report.count(result, rejected: [])
            rules.settle(result.deliveries)
            return handle(.triedCommit(succeeded: true))
        case .failure(let error):
            report.stall("\(error)")
            return handle(.triedCommit(succeeded: false))
        }
    }
}
