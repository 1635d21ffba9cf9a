import LockstepMQTT
import LockstepModel
import Logging

// The connection that shows that this collector runs, and by which it knows the others.

extension ClusterLoop {
    func handle(_ event: BrokerLink.Event) {
        switch event {
        case .connected(let version, _):
            view.connected(at: Moment.now().boot)
            refusesNATS = !hasClaimed
            hasReportedRefusal = false
            resubscribeAt = nil
            renewAt = 0
            do {
                let control = try subscribe()
                guard configuration.leaseServer == nil else { return }
                let rights = try link.subscribe(to: NATSDetector.rightsFilter, qos: .atMostOnce)
                let probe = try link.subscribe(to: NATSDetector.filter, qos: .atMostOnce)
                detector.connected(version, control: control, rights: rights, probe: probe)
            } catch {
                logger.error("subscribing failed", metadata: ["error": "\(error)"])
            }
        case .disconnected(let error, _):
            view.disconnected()
            resubscribeAt = nil
            if error.code == .takenOver {
                logger.error(
                    "another collector uses the same id",
                    metadata: ["id": "\(configuration.collector.id)", "hint": "give each collector its own --id"])
            } else {
                logger.warning("connection to broker lost", metadata: ["error": "\(error)"])
            }
        case .failed(let error, _):
            logger.warning("cannot connect to broker, retrying", metadata: ["error": "\(error)"])
        case .subscribed(let id, let isGranted):
            let result = detector.subscribed(id, isGranted: isGranted)
            if let result { recognised(result) }
            if !isGranted, !detector.isProbe(id) {
                // The access rights may be corrected, and a cluster refuses everything while a node is elected.
                resubscribeAt = Moment.now().boot + Self.retryDelay
                guard !hasReportedRefusal else { return }
                hasReportedRefusal = true
                logger.error(
                    "subscription refused by broker",
                    metadata: [
                        "hint": "allow this user to read and write '\(configuration.collector.root)-collectors/#'"
                    ])
            }
        case .published: break
        }
    }

    /// Subscribes to the topics of the cluster.
    /// - Returns: the id of the subscription to the topics of members.
    private func subscribe() throws(MQTTError) -> Int32? {
        let members = try link.subscribe(to: topics.memberFilter, qos: .atLeastOnce)
        if configuration.leaseServer == nil {
            for filter in topics.leaseFilters { try link.subscribe(to: filter, qos: .atLeastOnce) }
        }
        return members
    }

    func resubscribe() {
        resubscribeAt = nil
        do { _ = try subscribe() } catch {
            logger.error("subscribing failed", metadata: ["error": "\(error)"])
        }
    }

    /// Handles what the first connections show about the broker. A broker that has kept leases before is good.
    private func recognised(_ result: NATSDetector.Result) {
        guard refusesNATS else { return }
        switch result {
        case .nats: problem = .leasesNeedNATS(configuration.collector.broker)
        case .unclear:
            logger.warning(
                "the broker may be a NATS server, whose retained messages cannot keep leases",
                metadata: [
                    "hint":
                        "if it is one, add --lease-server; otherwise allow this user to read '\(NATSDetector.rightsFilter)'"
                ])
        case .other: break
        }
    }

    func receive(_ message: IncomingMessage) {
        guard let (kind, name) = topics.parse(message.topic) else { return }
        let now = Moment.now().boot
        switch kind {
        case "member":
            guard let id = CollectorID(rawValue: String(name)) else { return }
            view.receivedMember(id, isRunning: !message.payload.isEmpty, at: now)
        case "lease":
            guard let share = shares[String(name)], let record = LeaseRecord(message.payload) else { return }
            view.received(record, of: share, at: now)
        case "lost":
            guard let share = shares[String(name)],
                let owner = LeaseOwner(String(decoding: message.payload, as: UTF8.self))
            else { return }
            view.lost(owner, of: share)
        default: break
        }
    }

    func publishMembership(isRunning: Bool) {
        renewAt = Moment.now().boot + configuration.leaseTiming.renewal
        let message = MQTTMessage(
            topic: topics.member(configuration.collector.id), payload: isRunning ? Array("running".utf8) : [],
            isRetained: true)
        do { try link.publish(message) } catch {
            logger.error("publishing failed", metadata: ["channel": "member", "error": "\(error)"])
        }
    }
}
