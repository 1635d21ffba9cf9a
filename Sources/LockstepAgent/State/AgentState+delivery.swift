import LockstepMQTT
import LockstepModel
import LockstepSensors
import Logging

/// The connection, acknowledgements and live batches.
extension AgentState {
    mutating func handle(
        _ event: BrokerLink.Event, packetLimit: Int?, maxInFlight: Int?, at moment: Moment
    ) -> [Action] {
        switch event {
        case .connected(let version, _):
            // Report them again if the new connection still has them.
            for problem in ["broker", "subscription", "ack"] { problems.resolve(problem) }
            coalescer.packetLimit = packetLimit
            delivery.didConnect(maxInFlight: maxInFlight, at: moment.boot)
            subscriptionRetry = nil
            return [
                .log(
                    .info, "connected to broker", ["broker": "\(configuration.broker)", "mqtt": "\(version.rawValue)"]),
                .subscribe,
                .publishPresence(presence.didConnect(at: timeLine.timestamp(boot: moment.boot))),
            ]
        case .disconnected(let error, let delay): return didDisconnect(error, retryIn: delay, at: moment.boot)
        case .failed(let error, _):
            guard problems.isNew("broker \(error.code)") else { return [] }
            return [
                .log(
                    .warning, "cannot connect to broker, retrying",
                    ["broker": "\(configuration.broker)", "error": "\(error)"])
            ]
        case .subscribed(_, let isGranted): return didSubscribe(isGranted: isGranted, at: moment.boot)
        case .published(let id, let refusal?): return log(delivery.didRefuse(id, refusal, at: moment.boot))
        case .published(let id, nil):
            presence.didAcknowledge(id: id)
            delivery.didReceivePuback(id, at: moment.boot)
            return []
        }
    }

    private mutating func didDisconnect(_ error: MQTTError, retryIn delay: Duration, at boot: Int64) -> [Action] {
        delivery.didDisconnect()
        // Whole seconds, so that repetitions are equal and the log limits them.
        let retry = "\(max(1, Int((delay / .seconds(1)).rounded())))s"
        // Only the link can distinguish a second agent from a broker that restarts often.
        guard error.code == .takenOver, takeover.didLoseSession(at: boot) else {
            return [
                .stopBacklog,
                .log(
                    .warning, "connection lost, samples kept in outbox",
                    ["broker": "\(configuration.broker)", "error": "\(error)", "retry_in": "\(retry)"]),
            ]
        }
        return [
            .stopBacklog,
            .log(
                .error, "another agent uses the same device id",
                [
                    "device": "\(configuration.address)", "error": "\(error)", "retry_in": "\(retry)",
                    "hint": "give each agent its own --device",
                ]),
        ]
    }

    private mutating func didSubscribe(isGranted: Bool, at boot: Int64) -> [Action] {
        delivery.didSubscribe(0, at: boot)
        guard !isGranted else { return [] }
        // Retry, because the access rights may be corrected, or a cluster node may just have failed.
        subscriptionRetry = boot + Self.subscriptionRetryInterval
        guard problems.isNew("subscription") else { return [] }
        return [
            .log(
                .error, "subscription refused by broker",
                ["hint": "allow this user to read the topics ack and command of the device"])
        ]
    }

    mutating func retrySubscription(at boot: Int64) -> [Action] {
        guard let subscriptionRetry, subscriptionRetry <= boot, isConnected else { return [] }
        self.subscriptionRetry = nil
        return [.subscribe]
    }

    private func log(_ reports: [OutboxDelivery.Report]) -> [Action] {
        reports.map { .log($0.level, $0.message, $0.metadata) }
    }

    mutating func handle(_ ack: Acknowledgement, isNewerThanOutbox: Bool, at boot: Int64) -> [Action] {
        if isNewerThanOutbox, configuration.acknowledgedBy == .collector {
            // The new epoch needs a new connection, which must not be opened inside the message callback.
            contradictingAck = ack
        } else if delivery.handle(ack, at: boot) {
            presence.isChanged = true
        }
        return []
    }

    /// Schedules retransmissions, and updates the problem in the presence.
    mutating func reviewDelivery(at boot: Int64) -> [Action] {
        let actions = log(delivery.tick(at: boot))
        presence.problem =
            (unwritable ?? delivery.unreadable).map { Presence.outboxProblem + $0 } ?? takeover.problem(at: boot)
            ?? delivery.problem(of: 0, at: boot)
        return actions
    }

    mutating func reportUnreadableAcknowledgement(_ error: any Error) -> [Action] {
        guard configuration.acknowledgedBy == .collector, problems.isNew("ack") else { return [] }
        return [.log(.warning, "acknowledgement unreadable", ["error": "\(error)"])]
    }

    mutating func didPublish(
        _ position: BatchPosition, isBacklog: Bool, _ outcome: OutboxDelivery.Outcome, at boot: Int64
    ) -> [Action] {
        log(delivery.didPublish(position, isBacklog: isBacklog, outcome, at: boot))
    }

    mutating func beginBacklog() -> [Action] {
        guard contradictingAck == nil else { return [] }
        delivery.beginBacklog()
        return [.publishBacklog]
    }

    /// Reports that the outbox cannot be written. The backlog is published nevertheless, because it can still be read.
    mutating func reportBacklogNotRecorded(_ error: any Error) -> [Action] {
        guard problems.isNew("outbox") else { return [] }
        return [.log(.error, "cannot write outbox, backlog published nevertheless", ["error": "\(error)"])]
    }
}

/// Whether another agent with the same device id has taken over the connection. All times are in µs of the boot clock.
struct Takeover {
    /// The time after which it is logged again, and after which the last one no longer counts.
    static let interval: Int64 = 600_000_000

    private var at: Int64?
    private var loggedAt: Int64?

    /// Records that another client has taken over the connection.
    /// - Returns: whether to log it as an error.
    mutating func didLoseSession(at boot: Int64) -> Bool {
        at = boot
        guard boot - (loggedAt ?? .min / 2) >= Self.interval else { return false }
        loggedAt = boot
        return true
    }

    /// Forgets the takeover, which ends with the agent.
    mutating func didStop() { at = nil }

    func problem(at boot: Int64) -> String? {
        guard let at, boot - at < Self.interval else { return nil }
        return "another agent uses the same device id: give each agent its own --device"
    }
}
