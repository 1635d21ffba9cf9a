import LockstepMQTT
import LockstepModel
import LockstepSensors
import Logging

/// The connection, acknowledgements and live batches.
extension AgentState {
    mutating func handle(_ event: BrokerLink.Event, packetLimit: Int?, at moment: Moment) -> [Action] {
        switch event {
        case .connected(let version, _):
            isConnected = true
            // Report them again if the new connection still has them.
            for problem in ["broker", "too large", "subscription", "refusal", "ack"] { problems.resolve(problem) }
            coalescer.packetLimit = packetLimit
            delivery.didConnect(at: moment.boot)
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
        case .published(let id, let refusal?): return didRefuse(id, refusal, at: moment.boot)
        case .published(let id, nil):
            didAcknowledge(id, at: moment.boot)
            return []
        }
    }

    private mutating func didDisconnect(_ error: MQTTError, retryIn delay: Duration, at boot: Int64) -> [Action] {
        isConnected = false
        delivery.didDisconnect()
        linkWindow = LinkWindow()
        backlogStart = .max
        // Whole seconds, so that repetitions are equal and the log limits them.
        let retry = "\(max(1, Int((delay / .seconds(1)).rounded())))s"
        // Only the link can distinguish a second agent from a broker that restarts often.
        guard error.code == .takenOver, deliveryProblems.didLoseSession(at: boot) else {
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
        backlogStart = min(backlogStart, boot + Self.acknowledgementDelay)
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

    private mutating func didRefuse(_ id: Int32, _ error: MQTTError, at boot: Int64) -> [Action] {
        delivery.didRefuse(id, at: boot)
        linkWindow.didRefuse(id)
        guard problems.isNew("refusal") else { return [] }
        return [
            .log(
                .error, "message refused by broker",
                ["error": "\(error)", "hint": "check the access rights of this user"])
        ]
    }

    /// Handles the PUBACK of a message.
    private mutating func didAcknowledge(_ id: Int32, at boot: Int64) {
        presence.didAcknowledge(id: id)
        linkWindow.didReceivePuback(id, at: boot)
        guard let position = delivery.didReceivePuback(id, at: boot), configuration.acknowledgedBy == .broker else {
            return
        }
        markRemovable([position.epoch: SequenceSet([position.seq...position.seq])], at: boot)
        delivery.forget(removable)
    }

    /// Handles the acknowledgement of a collector.
    mutating func handle(_ ack: Acknowledgement, isNewerThanOutbox: Bool, at boot: Int64) -> [Action] {
        guard configuration.acknowledgedBy == .collector else { return [] }
        guard !isNewerThanOutbox else {
            // The new epoch needs a new connection, which must not be opened inside the message callback.
            contradictingAck = ack
            return []
        }
        if let refusal = ack.refusal {
            let position = BatchPosition(epoch: ack.epoch, seq: refusal.seq)
            if delivery.contains(position) { deliveryProblems.didRefuse(position, reason: refusal.reason, at: boot) }
            return []
        }
        delivery.handle(ack, at: boot)
        deliveryProblems.handle(ack)
        let gone = delivery.gone(of: ack)
        // The collector learns from the presence that it need not wait for them.
        if !gone.isEmpty, reportedGone != [ack.epoch: gone] {
            reportedGone = [ack.epoch: gone]
            presence.isChanged = true
        }
        markRemovable([ack.epoch: ack.stored], at: boot)
        backlogStart = min(backlogStart, boot)
        return []
    }

    /// Updates the problem in the presence, and logs that a collector refuses batches, or that none acknowledges them.
    mutating func reviewDelivery(at boot: Int64) -> [Action] {
        deliveryProblems.removeRefusal { !delivery.contains($0) }
        // The unreadable batches were dropped, or stored before.
        if !delivery.hasBacklog { deliveryProblems.unreadable = nil }
        presence.problem = deliveryProblems.text(at: boot)
        return reportRefusal(at: boot) + reportSilence(at: boot)
    }

    private mutating func reportRefusal(at boot: Int64) -> [Action] {
        guard let refusal = deliveryProblems.takeRefusal(at: boot) else { return [] }
        return [
            .log(
                .warning, "collector refuses batches, kept in outbox",
                [
                    "epoch": "\(refusal.position.epoch)", "seq": "\(refusal.position.seq)",
                    "error": "\(refusal.reason)",
                    "hint": "they are sent again until they are accepted; to give them up, use another --outbox",
                ])
        ]
    }

    private mutating func reportSilence(at boot: Int64) -> [Action] {
        guard let since = delivery.waitingSince else {
            problems.resolve("unacknowledged")
            return []
        }
        guard boot - since >= Self.acknowledgementPatience, !deliveryProblems.hasRefusal,
            problems.isNew("unacknowledged")
        else { return [] }
        return [
            .log(
                .warning, "no collector acknowledges batches, kept in outbox",
                [
                    "seconds": "\((boot - since) / 1_000_000)",
                    "hint": "check with 'lockstep doctor' that a collector of the group is online and stores",
                ])
        ]
    }

    mutating func reportUnreadableAcknowledgement(_ error: any Error) -> [Action] {
        guard configuration.acknowledgedBy == .collector, problems.isNew("ack") else { return [] }
        return [.log(.warning, "acknowledgement unreadable", ["error": "\(error)"])]
    }

    /// Whether a live batch may be published now.
    var canPublishLive: Bool { delivery.inFlightCount < Delivery.maxInFlight }

    mutating func didPublishLive(_ position: BatchPosition, _ outcome: PublishOutcome, at boot: Int64) -> [Action] {
        switch outcome {
        case .published(let id, let bytes):
            delivery.didPublish(position, as: id, at: boot)
            linkWindow.didPublish(id, bytes: bytes, isBacklog: false, at: boot)
            return []
        case .tooLarge: return markTooLarge(position)
        case .notPublished, .missing, .failed:
            delivery.enqueue(position)
            return []
        }
    }

    /// Excludes a batch that is too large for the broker, so that it does not block the batches behind it.
    mutating func markTooLarge(_ position: BatchPosition) -> [Action] {
        delivery.markTooLarge(position)
        guard problems.isNew("too large") else { return [] }
        return [
            .log(
                .error, "batch too large for broker, kept in outbox",
                [
                    "epoch": "\(position.epoch)", "seq": "\(position.seq)",
                    "hint": "raise the maximum packet size of the broker",
                ])
        ]
    }
}
