import LockstepMQTT
import LockstepModel

/// Claims and renews one lease, on a connection and thread of its own. ``LeaseClaim`` decides.
///
/// The connection is made once: when it is lost, the lease has ended.
final class LeaseLoop {
    private let lease: Lease
    private let owner: LeaseOwner
    private let topics: ClusterTopics
    private let link: BrokerLink
    private var claim: LeaseClaim
    private enum Received {
        case record(LeaseRecord)
        case probe(LeaseOwner)
    }
    private var inbox: [Received] = []
    /// The number of granted subscriptions.
    private var granted = 0
    /// The published records that the broker has not confirmed yet.
    private var unconfirmed: [Int32: (record: LeaseRecord, sentAt: Int64)] = [:]
    private var renewAt = Int64.max

    /// - Parameter floor: the lowest token to claim.
    init(_ lease: Lease, _ configuration: ClusterConfiguration, floor: FencingToken) {
        self.lease = lease
        let owner = LeaseOwner(collector: configuration.collector.id)
        let topics = ClusterTopics(root: configuration.collector.root, cluster: configuration.cluster)
        self.owner = owner
        self.topics = topics
        let now = Moment.now()
        claim = LeaseClaim(owner, floor: max(floor.rawValue, LeaseClaim.floor(at: now.wall)))
        let will = MQTTMessage(topic: topics.lost(lease.share), payload: Array(owner.description.utf8))
        // With MQTT 3.1.1, a client receives the messages that it publishes itself. With MQTT 5, `BrokerLink` suppresses
        // them.
        link = BrokerLink(wakeup: lease.renewer, version: .three) { version in
            MQTTOptions(
                address: configuration.collector.broker,
                clientID: configuration.clientID("lease", of: lease.share),
                keepAlive: ClusterConfiguration.keepAlive, will: will, version: version,
                tls: configuration.collector.tls, peerTimeout: ClusterConfiguration.peerTimeout)
        }
    }

    /// Runs until the lease is released or lost.
    func run() {
        var hasConnected = false
        link.mayConnect = { !hasConnected }
        link.onMessage = { [unowned self] message in
            if message.topic == topics.lease(lease.share) {
                if let record = LeaseRecord(message.payload) { inbox.append(.record(record)) }
            } else if let owner = LeaseOwner(String(decoding: message.payload, as: UTF8.self)) {
                inbox.append(.probe(owner))
            }
        }
        while !lease.isReleasing, lease.end == nil {
            link.wait(until: .now + .milliseconds(500))
            for event in link.read() {
                if case .connected = event { hasConnected = true }
                handle(event)
            }
            for received in inbox {
                switch received {
                case .record(let record): claim.received(record)
                case .probe(let owner): if let record = claim.returned(owner) { publish(record) }
                }
            }
            inbox = []
            if claim.phase == .lost { lease.end("another collector has claimed the share") }
            if claim.phase == .exhausted {
                lease.end(
                    "no token is higher than that of the last claim: delete the retained message "
                        + "'\(topics.lease(lease.share))', which no collector has written")
            }
            renewIfDue()
            for event in link.write() { handle(event) }
        }
        if lease.isReleasing, lease.end == nil, let token = claim.published {
            publish(LeaseRecord(token: token, owner: nil))
        }
        link.stop(until: .now + .seconds(1))
        link.onMessage = nil
        lease.end("released")
    }

    private func handle(_ event: BrokerLink.Event) {
        switch event {
        case .connected:
            do {
                for topic in [topics.lease(lease.share), topics.probe(lease.share)] {
                    try link.subscribe(to: topic, qos: .atLeastOnce)
                }
            } catch { lease.end("\(error)") }
        case .subscribed(_, let isGranted):
            guard isGranted else {
                return lease.end("the broker refuses to let this user read '\(topics.lease(lease.share))'")
            }
            granted += 1
            if granted == 2, claim.subscribed() { publishProbe() }
        case .published(let id, let refusal):
            guard let sent = unconfirmed.removeValue(forKey: id) else { return }
            if let refusal { return lease.end("the broker refuses the claim: \(refusal)") }
            claim.confirmed(sent.record)
            if let token = claim.token, token == sent.record.token { lease.confirm(token, sentAt: sent.sentAt) }
        case .disconnected(let error, _), .failed(let error, _):
            lease.end("the connection of the lease ended: \(error)")
        }
    }

    private func renewIfDue() {
        guard let token = claim.token else { return }
        let now = Moment.now().boot
        guard !lease.isHanging(at: now) else {
            return lease.end("a turn of the collector took longer than \(Lease.maxTurn / 1_000_000) s")
        }
        let isRequested = lease.takeRequest()
        guard isRequested || lease.token == nil || now >= renewAt else { return }
        publish(LeaseRecord(token: token, owner: owner))
    }

    private func publishProbe() {
        do {
            try link.publish(MQTTMessage(topic: topics.probe(lease.share), payload: Array(owner.description.utf8)))
        } catch { lease.end("\(error)") }
    }

    private func publish(_ record: LeaseRecord) {
        let now = Moment.now().boot
        renewAt = now + lease.timing.renewal
        do {
            let message = MQTTMessage(topic: topics.lease(lease.share), payload: record.payload, isRetained: true)
            if let id = try link.publish(message) { unconfirmed[id] = (record, now) }
        } catch { lease.end("\(error)") }
    }
}
