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
    /// The time to wait before a share is claimed, or the store is opened, again after a problem, in µs.
    static let retryDelay: Int64 = 3_000_000

    /// The results of other threads.
    final class Results: Sendable {
        let ended = Mutex<[(share: CollectorShare, problem: ShareProblem?)]>([])
        /// Whether the store could be opened.
        let storeCheck = Mutex<Bool?>(nil)
    }

    let configuration: ClusterConfiguration
    let logger: Logger
    private let supervisor: Supervisor
    let wakeup: Wakeup
    let makeRun: (CollectorShare, _ floor: FencingToken, ObservedLease?) -> ShareRun
    let checkStore: @Sendable () -> Bool
    let topics: ClusterTopics
    let link: BrokerLink
    let shares: [String: CollectorShare]
    let results = Results()
    let watcher: LeaseWatcher?
    var view: ClusterView
    var runs: [CollectorShare: ShareRun] = [:]
    var retryAt: [CollectorShare: Int64] = [:]
    /// The lowest tokens that the store accepts, of shares whose last claim had a lower one.
    var floors: [CollectorShare: FencingToken] = [:]
    /// The time at which all leases were last read from the bucket, in µs.
    var leasesReadAt = Moment.now().boot
    /// Whether leases could be read lately. They are not in a bucket if there is no watcher.
    var canReadLeases = true
    /// Whether the last attempt to open the store succeeded.
    var canOpenStore = true
    /// The time of the next attempt to open the store; nil if none is due.
    var checkAt: Int64?
    var hasReportedLimit = false
    /// The time at which refused subscriptions are requested again; nil if none was refused.
    var resubscribeAt: Int64?
    /// Whether a refused subscription of the current connection was logged.
    var hasReportedRefusal = false
    var renewAt: Int64 = 0
    private var passedAt = Moment.now().boot
    var detector = NATSDetector()
    /// Whether a share was ever claimed.
    var hasClaimed = false
    /// Whether no share was claimed before the current connection, so that a NATS server is an error.
    var refusesNATS = true
    /// Why this collector cannot be a member.
    var problem: ClusterError?

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
                address: collector.broker, clientID: configuration.memberClientID,
                keepAlive: ClusterConfiguration.keepAlive, will: will, version: version, tls: collector.tls,
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
}
