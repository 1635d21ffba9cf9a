import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire
import Logging

/// Waits until the active collector with the same id is gone and its store can be opened. ``StandbyMachine`` decides.
///
/// The lock of the store is what excludes two active collectors. Its loss alone is no reason to take over, because a
/// collector that is just restarted does not hold it for a moment either.
final class StandbyLoop {
    /// The longest time between two passes after which the process counts as having been stopped, in µs.
    private static let maxGap: Int64 = 3_000_000
    /// The interval between two attempts to open the store, in µs.
    private static let retryInterval: Int64 = 1_000_000

    private let configuration: CollectorConfiguration
    private let storeProblem: @Sendable () -> String?
    private let logger: Logger
    private let supervisor: Supervisor
    private let wakeup: Wakeup
    private var machine: StandbyMachine
    private var retryAt = Int64.min
    /// Why the last attempt to open the store failed, so that it is logged once.
    private var problem: String?

    init(
        _ configuration: CollectorConfiguration, storeProblem: @escaping @Sendable () -> String?, wakeup: Wakeup,
        logger: Logger, supervisor: Supervisor
    ) {
        self.configuration = configuration
        self.storeProblem = storeProblem
        self.logger = logger
        self.supervisor = supervisor
        self.wakeup = wakeup
        machine = StandbyMachine(healthInterval: configuration.healthInterval)
    }

    /// Waits, and opens the store.
    /// - Returns: the store, or nil if the collector was stopped.
    func run(
        until isStopping: () -> Bool, makeStore: () throws -> sending any SampleStore
    ) -> sending (any SampleStore)? {
        logger.info("standby started", metadata: ["id": "\(configuration.id)"])
        // Now, so that it is not noticed only when the store is needed.
        if let problem = storeProblem() {
            logger.warning("the standby could not take over now", metadata: ["error": "\(problem)"])
        }
        // Several standbys may wait.
        let clientID = MQTTOptions.clientID(
            "standby", configuration.id.rawValue, "\(UInt32.random(in: .min ... .max))")
        let link = configuration.broker.link(clientID: clientID, wakeup: wakeup)
        let topic = configuration.healthTopic
        let session = BrokerSession(link, filters: { [topic] }) { [unowned self] message in
            guard let health = try? CollectorHealth.decode(Data(message.payload)) else { return }
            // A last will contains no figures of a run.
            machine.received(health.status, isWill: health.started == nil, at: Moment.now().boot)
        }
        defer { session.close() }
        var passedAt = Moment.now().boot
        while !isStopping() {
            supervisor.didTurn(
                link.isUp
                    ? "standby of the collector '\(configuration.id)'" : "standby without a connection to the broker")
            for event in session.next(until: .now + .milliseconds(500)) { handle(event) }
            let now = Moment.now().boot
            if now - passedAt > Self.maxGap { machine.resumed(at: now) }
            passedAt = now
            if let reason = machine.reason(at: now), now >= retryAt {
                retryAt = now + Self.retryInterval
                if let store = open(makeStore) {
                    logger.info("taking over", metadata: ["id": "\(configuration.id)", "reason": "\(reason.rawValue)"])
                    return store
                }
                // An attempt to open the store may take long.
                passedAt = Moment.now().boot
            }
            for event in session.send() { handle(event) }
        }
        supervisor.willStop()
        logger.info("standby stopped")
        return nil
    }

    private func open(_ makeStore: () throws -> sending any SampleStore) -> sending (any SampleStore)? {
        // A new store in a folder that is not mounted would hide the samples of the predecessor.
        if let problem = storeProblem() {
            report(problem)
            return nil
        }
        do { return try makeStore() } catch {
            let isInUse = (error as? StoreError)?.code == .inUse
            report(isInUse ? "another collector still holds the store" : "\(error)")
            return nil
        }
    }

    private func report(_ problem: String) {
        guard problem != self.problem else { return }
        self.problem = problem
        logger.warning("cannot take over, retrying", metadata: ["error": "\(problem)"])
    }

    private func handle(_ event: BrokerSession.Event) {
        switch event {
        case .ready: machine.subscribed(at: Moment.now().boot)
        case .denied(_, let error):
            logger.error(
                "subscription refused by broker",
                metadata: ["error": "\(error)", "hint": "allow this user to read '\(configuration.healthTopic)'"])
        case .interrupted(let error, let wasConnected):
            if wasConnected { machine.disconnected() }
            logger.warning(
                wasConnected ? "connection to broker lost" : "cannot connect to broker, retrying",
                metadata: ["error": "\(error)"])
        case .connected, .published: break
        }
    }
}

/// Decides when a standby takes over from the active collector with the same id, without I/O. Times are in µs of the boot
/// clock.
struct StandbyMachine {
    /// Why a standby tries to take over.
    enum Reason: String, Hashable {
        /// The active collector has stopped, or the broker has lost its connection.
        case offline
        /// The active collector has not reported its health for too long.
        case silent
        /// No collector with this id has reported its health.
        case none = "no collector"
    }

    /// The time for which a last will must be the last report, in µs. A broker may also publish the will of an old connection
    /// when the same client connects again.
    static let willDelay: Int64 = 5_000_000

    /// The interval at which the active collector reports its health.
    let healthInterval: Int64
    private var status: CollectorHealth.Status?
    /// Whether the active collector has said itself that it stops.
    private var hasStopped = false
    /// The time of the subscription, or of the last report after it; nil while there is no subscription.
    private var listeningSince: Int64?

    init(healthInterval: Int64) { self.healthInterval = healthInterval }

    /// The broker has granted the subscription to the health reports. It sends the last one again.
    mutating func subscribed(at now: Int64) {
        status = nil
        hasStopped = false
        listeningSince = now
    }

    /// This process was stopped for a while. What is known may be old.
    mutating func resumed(at now: Int64) {
        hasStopped = false
        if listeningSince != nil { listeningSince = now }
    }

    /// The connection has ended. Nothing can be decided without it.
    mutating func disconnected() { listeningSince = nil }

    /// A health report was received, which may be retained.
    /// - Parameter isWill: whether it is the last will of a connection.
    mutating func received(_ status: CollectorHealth.Status, isWill: Bool, at now: Int64) {
        self.status = status
        hasStopped = status == .offline && !isWill
        if listeningSince != nil { listeningSince = now }
    }

    /// Returns why to take over now, or nil to wait.
    func reason(at now: Int64) -> Reason? {
        guard let listeningSince else { return nil }
        let silence = now - listeningSince
        switch status {
        case .offline: return hasStopped || silence >= Self.willDelay ? .offline : nil
        case .online, .stalled: return silence >= 3 * healthInterval ? .silent : nil
        // A collector that runs reports within one interval.
        case nil: return silence >= healthInterval + healthInterval / 2 ? Reason.none : nil
        }
    }
}
