import Dispatch
import LockstepMQTT
import LockstepModel
import LockstepSupervision
import Logging
import Synchronization

/// The main loop of a member of a cluster: shows that this collector runs, watches the others, and starts and stops the
/// collection of shares. ``ClusterView`` decides.
final class ClusterLoop {
    /// The longest time between two passes after which the process counts as having been stopped, in µs.
    private static let maxGap: Int64 = 3_000_000
    private static let unreachable = "the lease server cannot be reached"
    /// The maximum number of shares of a collector. Each needs up to three threads, up to three connections to the broker
    /// and the lease server, and one to the store.
    static let maxShares = 32
    /// The time to wait before a share is claimed, or the store is opened, again after a problem, in µs.
    private static let retryDelay: Int64 = 3_000_000

    /// The results of other threads.
    private final class Results: Sendable {
        let ended = Mutex<[(share: CollectorShare, problem: ShareProblem?)]>([])
        /// Whether the store could be opened.
        let storeCheck = Mutex<Bool?>(nil)
    }

    private let configuration: ClusterConfiguration
    private let logger: Logger
    private let supervisor: Supervisor
    private let wakeup: Wakeup
    private let makeRun: (CollectorShare, _ floor: FencingToken, ObservedLease?) -> ShareRun
    private let checkStore: @Sendable () -> Bool
    private let topics: ClusterTopics
    private let link: BrokerLink
    private let shares: [String: CollectorShare]
    private let results = Results()
    private let watcher: LeaseWatcher?
    private var view: ClusterView
    private var runs: [CollectorShare: ShareRun] = [:]
    private var retryAt: [CollectorShare: Int64] = [:]
    /// The lowest tokens that the store accepts, of shares whose last claim had a lower one.
    private var floors: [CollectorShare: FencingToken] = [:]
    /// The time at which all leases were last read from the bucket, in µs.
    private var leasesReadAt = Moment.now().boot
    /// Whether leases could be read lately. They are not in a bucket if there is no watcher.
    private var canReadLeases = true
    /// Whether the last attempt to open the store succeeded.
    private var canOpenStore = true
    /// The time of the next attempt to open the store; nil if none is due.
    private var checkAt: Int64?
    private var hasReportedLimit = false
    /// The time at which refused subscriptions are requested again; nil if none was refused.
    private var resubscribeAt: Int64?
    /// Whether a refused subscription of the current connection was logged.
    private var hasReportedRefusal = false
    private var renewAt: Int64 = 0
    private var passedAt = Moment.now().boot
    private var detector = NATSDetector()
    /// Whether a share was ever claimed.
    private var hasClaimed = false
    /// Whether no share was claimed before the current connection, so that a NATS server is an error.
    private var refusesNATS = true
    /// Why this collector cannot be a member.
    private(set) var problem: ClusterError?

    /// - Parameter checkStore: opens the store and returns whether this succeeded. It is called on another thread.
    init(
        _ configuration: ClusterConfiguration, wakeup: Wakeup, logger: Logger, supervisor: Supervisor,
        checkStore: @escaping @Sendable () -> Bool,
        makeRun: @escaping (CollectorShare, _ floor: FencingToken, ObservedLease?) -> ShareRun
    ) {
        self.configuration = configuration
        self.logger = logger
        self.supervisor = supervisor
        self.wakeup = wakeup
        self.checkStore = checkStore
        self.makeRun = makeRun
        let collector = configuration.collector
        let topics = ClusterTopics(root: collector.root, cluster: configuration.cluster)
        self.topics = topics
        shares = Dictionary(configuration.shares.map { ($0.description, $0) }) { first, _ in first }
        view = ClusterView(
            me: collector.id, shares: configuration.shares, timing: configuration.leaseTiming,
            hasBucket: configuration.leaseServer != nil)
        watcher = configuration.leaseServer.map {
            LeaseWatcher(configuration, $0, wakeup: wakeup, logger: logger)
        }
        let will = MQTTMessage(topic: topics.member(collector.id), payload: [], isRetained: true)
        link = BrokerLink(wakeup: wakeup, version: configuration.mqttVersion, node: collector.node) { version in
            MQTTOptions(
                address: collector.broker, clientID: configuration.clientID("member", collector.id.rawValue),
                keepAlive: ClusterConfiguration.keepAlive, will: will, version: version, tls: collector.tls)
        }
    }

    /// Runs until `isStopping` returns true and all shares are released.
    func run(until isStopping: () -> Bool) {
        logger.info(
            "member of cluster started",
            metadata: [
                "id": "\(configuration.collector.id)", "cluster": "\(configuration.cluster)",
                "shares": "\(configuration.shares.count)",
            ])
        link.onMessage = { [unowned self] message in receive(message) }
        watcher?.start()
        defer { watcher?.stop() }
        var isDraining = false
        while !(isDraining && runs.isEmpty) {
            supervisor.didTurn(summary)
            link.wait(until: .now + .milliseconds(500))
            let now = Moment.now().boot
            let wasStopped = now - passedAt > Self.maxGap
            if wasStopped { view.resumed(at: now) }
            passedAt = now
            for event in link.read() { handle(event) }
            if let read = watcher?.take() {
                for (share, lease) in read.observed { view.observed(lease, of: share, at: now) }
                if read.isComplete || wasStopped { leasesReadAt = now }
            }
            if let due = resubscribeAt, now >= due { resubscribe() }
            collectEnds(at: now)
            if isStopping() || problem != nil, !isDraining {
                isDraining = true
                supervisor.willStop()
                publishMembership(isRunning: false)
            }
            // After a stop of the process, all shares look as if they hang.
            if !isDraining, !wasStopped { updateAvailability(at: now) }
            for action in view.actions(running: Set(runs.keys), isDraining: isDraining, at: now) {
                perform(action, at: now)
            }
            if !isDraining, now >= renewAt { publishMembership(isRunning: view.isAvailable) }
            for event in link.write() { handle(event) }
        }
        link.stop(until: .now + .seconds(1))
        link.onMessage = nil
        logger.info("member of cluster stopped")
    }

    private var summary: String {
        (link.isUp
            ? "connected to \(configuration.collector.broker)" : "no connection to \(configuration.collector.broker)")
            + "; " + counted(runs.count, "share") + (canOpenStore ? "" : "; the store cannot be opened")
            + (canReadLeases ? "" : "; \(Self.unreachable)")
    }

    /// Lets the others take over while this collector cannot collect, and returns when it can.
    private func updateAvailability(at now: Int64) {
        if let isOpened = results.storeCheck.withLock({ $0.take() }) {
            canOpenStore = isOpened
            checkAt = isOpened ? nil : now + Self.retryDelay
        }
        if !canOpenStore, let due = checkAt, now >= due {
            checkAt = nil
            DispatchQueue(label: "lockstep.cluster.store").async { [checkStore, results, wakeup] in
                let isOpened = checkStore()
                results.storeCheck.withLock { $0 = isOpened }
                wakeup.signal()
            }
        }
        // By then, leases that could not be renewed either have ended.
        canReadLeases = watcher == nil || now - leasesReadAt < configuration.leaseTiming.validity
        let hanging = runs.filter { $0.value.isHanging(at: now) }.keys.map(\.description).sorted()
        let isAvailable = canOpenStore && canReadLeases && hanging.isEmpty
        guard isAvailable != view.isAvailable else { return }
        view.setAvailable(isAvailable, at: now)
        publishMembership(isRunning: isAvailable)
        if isAvailable {
            logger.info("available again")
        } else {
            let reason =
                !canOpenStore
                ? "the store cannot be opened"
                : !canReadLeases ? Self.unreachable : "hanging: \(hanging.joined(separator: ", "))"
            logger.error("leaving the shares to the other collectors", metadata: ["error": "\(reason)"])
        }
    }

    private func perform(_ action: ClusterView.Action, at now: Int64) {
        switch action {
        case .start(let share):
            guard now >= retryAt[share] ?? .min else { return }
            guard runs.count < Self.maxShares else {
                if !hasReportedLimit {
                    logger.error(
                        "too many shares for this collector, the rest is not collected",
                        metadata: ["maximum": "\(Self.maxShares)", "hint": "start more collectors of the cluster"])
                }
                hasReportedLimit = true
                return
            }
            hasClaimed = true
            logger.info("claiming share", metadata: ["share": "\(share)"])
            let run = makeRun(share, floors[share] ?? FencingToken(rawValue: 0), view.freeLease(of: share))
            runs[share] = run
            run.start { [results, wakeup] problem in
                results.ended.withLock { $0.append((share, problem)) }
                wakeup.signal()
            }
        case .stop(let share): runs[share]?.stop()
        }
    }

    private func collectEnds(at now: Int64) {
        let ended = results.ended.withLock { ended in
            defer { ended = [] }
            return ended
        }
        for (share, problem) in ended {
            runs[share] = nil
            hasReportedLimit = false
            guard let problem else {
                logger.info("share released", metadata: ["share": "\(share)"])
                continue
            }
            retryAt[share] = now + Self.retryDelay
            if problem.isStoreClosed, canOpenStore {
                canOpenStore = false
                checkAt = now + Self.retryDelay
            }
            if let needed = problem.neededToken { floors[share] = needed }
            logger.warning("share lost", metadata: ["share": "\(share)", "error": "\(problem.description)"])
        }
    }

    private func handle(_ event: BrokerLink.Event) {
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

    private func resubscribe() {
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

    private func receive(_ message: IncomingMessage) {
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

    private func publishMembership(isRunning: Bool) {
        renewAt = Moment.now().boot + configuration.leaseTiming.renewal
        let message = MQTTMessage(
            topic: topics.member(configuration.collector.id), payload: isRunning ? Array("running".utf8) : [],
            isRetained: true)
        do { try link.publish(message) } catch {
            logger.error("publishing failed", metadata: ["channel": "member", "error": "\(error)"])
        }
    }
}
