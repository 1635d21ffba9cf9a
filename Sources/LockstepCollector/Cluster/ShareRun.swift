import Dispatch
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepSupervision
import Logging
import Synchronization

/// Collects the devices of one share, on threads of its own, from the claim of its lease until the lease or the
/// connection ends.
final class ShareRun: Sendable {
    /// The maximum time to wait for a lease or its confirmation.
    static let patience = Duration.seconds(15)

    let share: CollectorShare
    private let configuration: ClusterConfiguration
    private let logger: Logger
    private let makeStore: @Sendable () throws -> sending any SampleStore
    private let transitions: AsyncStream<DeviceTransition>.Continuation
    private let isStopping = Mutex(false)
    private let lease: Lease
    private let mailbox = RuleMailbox()
    private let makeKeeper: @Sendable (Lease) -> any LeaseKeeper

    /// - Parameter makeKeeper: returns what claims and renews the lease. It is called on the thread of the keeper.
    init(
        _ share: CollectorShare, _ configuration: ClusterConfiguration, logger: Logger,
        transitions: AsyncStream<DeviceTransition>.Continuation,
        makeStore: @escaping @Sendable () throws -> sending any SampleStore,
        makeKeeper: @escaping @Sendable (Lease) -> any LeaseKeeper
    ) {
        self.share = share
        self.configuration = configuration
        var logger = logger
        logger[metadataKey: "share"] = "\(share)"
        self.logger = logger
        self.transitions = transitions
        self.makeStore = makeStore
        self.makeKeeper = makeKeeper
        lease = Lease(share, configuration.leaseTiming)
    }

    /// Starts, and calls `completion` at the end with the reason: an error, or nil if the run was stopped.
    func start(_ completion: @escaping @Sendable (_ problem: ShareProblem?) -> Void) {
        DispatchQueue(label: "lockstep.share").async { [self] in
            do {
                try run()
                completion(nil)
            } catch let problem as ShareProblem {
                completion(problem)
            } catch {
                completion(ShareProblem(description: "\(error)"))
            }
        }
    }

    /// Returns whether the collection hangs.
    func isHanging(at boot: Int64) -> Bool { lease.isHanging(at: boot) }

    /// Reads the rules again.
    func reloadRules() {
        mailbox.withLock { $0.reloadsRules = true }
        lease.user.signal()
    }

    /// Commits, releases the lease and ends.
    func stop() {
        isStopping.withLock { $0 = true }
        lease.user.signal()
    }

    private var isStopped: Bool { isStopping.withLock { $0 } }

    private func run() throws {
        // Before the claim, so that a collector that cannot store anything does not take the share.
        let store = try openStore()
        let renewal = DispatchQueue(label: "lockstep.lease")
        renewal.async { [self] in makeKeeper(lease).run() }
        defer {
            lease.release()
            renewal.sync {}
        }
        let deadline = ContinuousClock.now + Self.patience
        while lease.token == nil {
            if isStopped { return }
            if let end = lease.end { throw LeaseError(end) }
            guard ContinuousClock.now < deadline else { throw LeaseError("the claim was not confirmed in time") }
            lease.user.wait(for: nil, until: .now + .milliseconds(200))
        }
        let own = configuration.configuration(of: share)
        let loop = try CollectorLoop(
            own, store: store, wakeup: lease.user, logger: logger, supervisor: .disabled, transitions: transitions,
            mailbox: mailbox, lease: lease)
        let clock = ClockResponder(own, logger: logger)
        if own.answersClock { clock.start() }
        defer { clock.stop() }
        try loop.run { [self] in isStopped }
        if !isStopped {
            throw ShareProblem(
                description: loop.problem ?? lease.end ?? "the connection ended", isStoreClosed: loop.isStoreCutOff,
                neededToken: loop.neededToken)
        }
    }

    private func openStore() throws(ShareProblem) -> sending any SampleStore {
        do { return try makeStore() } catch {
            throw ShareProblem(description: "\(error)", isStoreClosed: true)
        }
    }
}

/// Why a run has ended, and what the next one needs to know.
struct ShareProblem: Error {
    let description: String
    /// Whether the store could not be opened, or none of its servers can be reached over the network.
    var isStoreClosed = false
    /// The lowest token with which the store lets the share be taken over, if the claim had a lower one.
    var neededToken: FencingToken?
}

/// The reason why a share is no longer collected.
struct LeaseError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
