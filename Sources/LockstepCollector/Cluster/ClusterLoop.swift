import Dispatch
import LockstepMQTT
import LockstepModel
import Logging
import Synchronization

/// The main loop of a member of a cluster: shows that this collector runs, watches the others, and starts and stops the
/// collection of shares. ``ClusterView`` decides.
final class ClusterLoop {
    /// The longest time between two passes after which the process counts as having been stopped, in µs.
    private static let maxGap: Int64 = 3_000_000
    /// The time to wait before something is tried again after a problem, in µs.
    private static let retryDelay: Int64 = 3_000_000
    /// The maximum number of shares of a collector. Each needs up to three threads, up to three connections to the broker
    /// and the lease server, and one to the store.
    private static let maxShares = 32
    private static let unreachable = "the lease server cannot be reached"

    /// Whether the store can be opened.
    private enum StoreAccess: Equatable {
        case open
        /// It could not be opened, and is tried at this time.
        case closed(checkAt: Int64)
        /// Another thread tries to open it.
        case checking
    }

    /// What the broker says to the subscription of the current connection.
    private enum Subscription: Equatable {
        case requested
        /// It was refused and logged, and is requested at this time; nil if this was done.
        case refused(retryAt: Int64?)
    }

    /// What is known of a share from its runs.
    private struct Share {
        var run: ShareRun?
        /// The earliest time of the next run.
        var retryAt = Int64.min
        /// The lowest token that the store accepts, if the last claim had a lower one.
        var floor = FencingToken(rawValue: 0)
    }

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
    private let makeRun: (CollectorShare, ObservedLease, _ floor: FencingToken) -> ShareRun
    private let checkStore: @Sendable () -> Bool
    private let link: BrokerLink
    private let reader: LeaseReader
    private let results = Results()
    private var view: ClusterView
    private var shares: [CollectorShare: Share] = [:]
    private var store = StoreAccess.open
    private var subscription = Subscription.requested
    /// The time at which all leases were last read, in µs of the boot clock.
    private var leasesReadAt = Moment.now().boot
    /// What the membership says, and the time of its next renewal.
    private var membership = (text: "", renewAt: Int64.min)
    private var hasReportedLimit = false
    private var passedAt = Moment.now().boot

    /// - Parameters:
    ///   - checkStore: opens the store and returns whether this succeeded. It is called on another thread.
    ///   - makeRun: creates a run, which claims a share with at least the given token.
    init(
        _ configuration: ClusterConfiguration, wakeup: Wakeup, logger: Logger, supervisor: Supervisor,
        checkStore: @escaping @Sendable () -> Bool,
        makeRun: @escaping (CollectorShare, ObservedLease, _ floor: FencingToken) -> ShareRun
    ) {
        self.configuration = configuration
        self.logger = logger
        self.supervisor = supervisor
        self.wakeup = wakeup
        self.checkStore = checkStore
        self.makeRun = makeRun
        let collector = configuration.collector
        view = ClusterView(me: collector.id, shares: configuration.shares)
        reader = LeaseReader(configuration, wakeup: wakeup, logger: logger)
        let will = MQTTMessage(
            topic: configuration.memberTopic(collector.id.rawValue), payload: [], isRetained: true)
        link = BrokerLink(wakeup: wakeup, version: collector.broker.version, node: collector.node) { version in
            MQTTOptions(
                address: collector.broker.address, clientID: configuration.memberClientID,
                keepAlive: ClusterConfiguration.keepAlive, will: will, version: version, tls: collector.broker.tls,
                peerTimeout: ClusterConfiguration.peerTimeout)
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
        let topic = configuration.memberTopic("+")
        let session = BrokerSession(link, filters: { [topic] }) { [unowned self] message in
            guard let id = configuration.member(of: message.topic) else { return }
            view.receivedMember(id, isRunning: !message.payload.isEmpty, at: Moment.now().boot)
        }
        reader.start()
        defer { reader.stop() }
        var isDraining = false
        while !(isDraining && runs.isEmpty) {
            supervisor.didTurn(summary)
            let events = session.next(until: .now + .milliseconds(500), limit: 100)
            let now = Moment.now().boot
            let wasStopped = now - passedAt > Self.maxGap
            if wasStopped { view.resumed(at: now) }
            passedAt = now
            for event in events + resubscribe(session, at: now) { handle(event, at: now) }
            let read = reader.take()
            for (share, lease) in read.observed { view.observed(lease, of: share, at: now) }
            if read.isComplete || wasStopped { leasesReadAt = now }
            collectEnds(at: now)
            if isStopping(), !isDraining {
                isDraining = true
                supervisor.willStop()
                publishMembership("", at: now)
            }
            // After a stop of the process, all shares look as if they hang.
            if !isDraining, !wasStopped { updateAvailability(at: now) }
            for action in view.actions(running: Set(runs.keys), isDraining: isDraining, at: now) {
                perform(action, at: now)
            }
            if !isDraining { renewMembership(at: now) }
            for event in session.send() { handle(event, at: now) }
        }
        session.close()
        logger.info("member of cluster stopped")
    }

    /// The runs of the shares that this collector claims or owns.
    private var runs: [CollectorShare: ShareRun] { shares.compactMapValues(\.run) }

    /// Whether leases were read lately. By the time that they were not, those that could not be renewed either have ended.
    private var canReadLeases: Bool { passedAt - leasesReadAt < Lease.validity }

    private var summary: String {
        let broker = configuration.collector.broker
        return (link.isUp ? "connected to \(broker)" : "no connection to \(broker)") + "; "
            + counted(runs.count, "share") + (store == .open ? "" : "; the store cannot be opened")
            + (canReadLeases ? "" : "; \(Self.unreachable)")
    }

    // MARK: The connection that shows that this collector runs, and by which it knows the others

    private func handle(_ event: BrokerSession.Event, at now: Int64) {
        switch event {
        case .connected:
            view.connected(at: now)
            membership.renewAt = now
            subscription = .requested
        case .interrupted(let error, wasConnected: true):
            view.disconnected()
            if error.code == .takenOver {
                logger.error(
                    "another collector uses the same id",
                    metadata: ["id": "\(configuration.collector.id)", "hint": "give each collector its own --id"])
            } else {
                logger.warning("connection to broker lost", metadata: ["error": "\(error)"])
            }
        case .interrupted(let error, wasConnected: false):
            logger.warning("cannot connect to broker, retrying", metadata: ["error": "\(error)"])
        case .denied(_, let error):
            if subscription == .requested {
                logger.error(
                    "subscription refused by broker",
                    metadata: [
                        "error": "\(error)",
                        "hint": "allow this user to read and write '\(configuration.memberTopic("+"))'",
                    ])
            }
            // The access rights may be corrected, and a cluster refuses everything while a node is elected.
            subscription = .refused(retryAt: now + Self.retryDelay)
        case .ready, .published: break
        }
    }

    private func resubscribe(_ session: BrokerSession, at now: Int64) -> [BrokerSession.Event] {
        guard case .refused(let due?) = subscription, now >= due else { return [] }
        subscription = .refused(retryAt: nil)
        return session.subscribe()
    }

    /// Publishes that this collector runs, and which leases it holds, or that it cannot collect.
    private func renewMembership(at now: Int64) {
        let held = runs.filter { $0.value.hasLease }.keys.map(\.description).sorted()
        let text = view.isAvailable ? (["running"] + held).joined(separator: " ") : ""
        if text != membership.text || now >= membership.renewAt { publishMembership(text, at: now) }
    }

    private func publishMembership(_ text: String, at now: Int64) {
        membership = (text, now + Lease.renewal)
        let message = MQTTMessage(
            topic: configuration.memberTopic(configuration.collector.id.rawValue), payload: Array(text.utf8),
            isRetained: true)
        do { try link.publish(message) } catch {
            logger.error("publishing failed", metadata: ["channel": "member", "error": "\(error)"])
        }
    }

    // MARK: Whether this collector can collect

    /// Lets the others take over while this collector cannot collect.
    private func updateAvailability(at now: Int64) {
        if let isOpened = results.storeCheck.withLock({ $0.take() }) {
            store = isOpened ? .open : .closed(checkAt: now + Self.retryDelay)
        }
        if case .closed(let due) = store, now >= due {
            store = .checking
            DispatchQueue(label: "lockstep.cluster.store").async { [checkStore, results, wakeup] in
                let isOpened = checkStore()
                results.storeCheck.withLock { $0 = isOpened }
                wakeup.signal()
            }
        }
        let hanging = runs.filter { $0.value.isHanging(at: now) }.keys.map(\.description).sorted()
        let problem: String? =
            store != .open
            ? "the store cannot be opened"
            : !canReadLeases
                ? Self.unreachable : hanging.isEmpty ? nil : "hanging: \(hanging.joined(separator: ", "))"
        guard (problem == nil) != view.isAvailable else { return }
        view.setAvailable(problem == nil, at: now)
        if let problem {
            logger.error("leaving the shares to the other collectors", metadata: ["error": "\(problem)"])
        } else {
            logger.info("available again")
        }
    }

    // MARK: The collection of the shares

    private func perform(_ action: ClusterView.Action, at now: Int64) {
        switch action {
        case .start(let share, let lease):
            var known = shares[share] ?? Share()
            guard now >= known.retryAt else { return }
            guard runs.count < Self.maxShares else {
                if !hasReportedLimit {
                    logger.error(
                        "too many shares for this collector, the rest is not collected",
                        metadata: ["maximum": "\(Self.maxShares)", "hint": "start more collectors of the cluster"])
                }
                hasReportedLimit = true
                return
            }
            logger.info("claiming share", metadata: ["share": "\(share)"])
            let run = makeRun(share, lease, known.floor)
            known.run = run
            shares[share] = known
            run.start { [results, wakeup] problem in
                results.ended.withLock { $0.append((share, problem)) }
                wakeup.signal()
            }
        case .stop(let share): shares[share]?.run?.stop()
        }
    }

    private func collectEnds(at now: Int64) {
        let ended = results.ended.withLock { ended in
            defer { ended = [] }
            return ended
        }
        for (share, problem) in ended {
            shares[share]?.run = nil
            hasReportedLimit = false
            guard let problem else {
                logger.info("share released", metadata: ["share": "\(share)"])
                continue
            }
            shares[share]?.retryAt = now + Self.retryDelay
            if problem.isStoreClosed, store == .open { store = .closed(checkAt: now + Self.retryDelay) }
            if let needed = problem.neededToken { shares[share]?.floor = needed }
            logger.warning("share lost", metadata: ["share": "\(share)", "error": "\(problem)"])
        }
    }
}
