import Dispatch
import LockstepMQTT
import LockstepModel
import LockstepStore
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
    private let isStopping = Atomic(false)
    private let lease: Lease
    private let observed: ObservedLease
    private let floor: FencingToken
    private let mailbox = RuleMailbox()

    /// - Parameters:
    ///   - observed: the lease when it was found to be free.
    ///   - floor: the lowest token to claim.
    init(
        _ share: CollectorShare, claiming observed: ObservedLease, floor: FencingToken,
        _ configuration: ClusterConfiguration, logger: Logger,
        transitions: AsyncStream<DeviceTransition>.Continuation,
        makeStore: @escaping @Sendable () throws -> sending any SampleStore
    ) {
        self.share = share
        self.observed = observed
        self.floor = floor
        self.configuration = configuration
        var logger = logger
        logger[metadataKey: "share"] = "\(share)"
        self.logger = logger
        self.transitions = transitions
        self.makeStore = makeStore
        lease = Lease(share)
    }

    /// Starts, and calls `completion` at the end with the reason: an error, or nil if the run was stopped.
    func start(_ completion: @escaping @Sendable (_ problem: ShareProblem?) -> Void) {
        DispatchQueue(label: "lockstep.share").async { [self] in
            do {
                try run()
                completion(nil)
            } catch {
                completion(error as? ShareProblem ?? ShareProblem(error))
            }
        }
    }

    var hasLease: Bool { lease.token != nil && lease.end == nil }

    func isHanging(at boot: Int64) -> Bool { lease.isHanging(at: boot) }

    func reloadRules() {
        mailbox.withLock { $0.reloadsRules = true }
        lease.user.signal()
    }

    /// Commits, releases the lease and ends.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        lease.user.signal()
    }

    private var isStopped: Bool { isStopping.load(ordering: .acquiring) }

    private func run() throws {
        // Before the claim, so that a collector that cannot store anything does not take the share.
        let store = try openStore()
        let keeping = DispatchQueue(label: "lockstep.lease")
        keeping.async { [self] in LeaseKeeper(lease, configuration, claiming: observed, floor: floor).run() }
        defer {
            lease.release()
            keeping.sync {}
        }
        let deadline = ContinuousClock.now + Self.patience
        while lease.token == nil {
            if isStopped { return }
            if let end = lease.end { throw ShareProblem(end) }
            guard ContinuousClock.now < deadline else { throw ShareProblem("the claim was not confirmed in time") }
            lease.user.wait(for: nil, until: .now + .milliseconds(200))
        }
        let own = configuration.configuration(of: share)
        let loop = try CollectorLoop(
            own, store: store, wakeup: lease.user, logger: logger, supervisor: .disabled, transitions: transitions,
            mailbox: mailbox, ownership: Ownership(claiming: lease))
        let clock = ClockResponder(own, logger: logger)
        if own.answersClock { clock.start() }
        defer { clock.stop() }
        try loop.run { [self] in isStopped }
        if !isStopped { throw loop.ownership.shareProblem ?? ShareProblem("the connection ended") }
    }

    private func openStore() throws(ShareProblem) -> sending any SampleStore {
        do { return try makeStore() } catch { throw ShareProblem("\(error)", isStoreClosed: true) }
    }
}

/// Why a share is no longer collected, and what its next run needs to know.
struct ShareProblem: Error, Hashable, CustomStringConvertible {
    let description: String
    /// Whether the store could not be opened, or none of its servers can be reached over the network.
    var isStoreClosed = false
    /// The lowest token with which the store lets the share be taken over, if the claim had a lower one.
    var neededToken: FencingToken?

    init(_ description: String, isStoreClosed: Bool = false) {
        self.description = description
        self.isStoreClosed = isStoreClosed
    }

    /// Creates the problem of an error, which may be one of the store.
    init(_ error: any Error) {
        let storeError = error as? StoreError
        self.init("\(error)", isStoreClosed: storeError?.isCutOff ?? false)
        neededToken = storeError?.neededToken
    }
}
