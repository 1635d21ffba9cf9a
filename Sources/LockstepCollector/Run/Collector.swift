public import LockstepMQTT
public import LockstepModel
public import LockstepRules
public import LockstepStore
public import LockstepWire
public import Logging
public import ServiceLifecycle

/// A service that receives the batches of agents, stores every sample once, acknowledges after the commit, and
/// publishes the life-cycle state of each device.
public final class Collector: Service {
    /// The state transitions of all devices. Each is published here after it is on disk. A slow reader loses all but
    /// the newest 10,000.
    public let transitions: AsyncStream<DeviceTransition>

    private let configuration: CollectorConfiguration
    private let logger: Logger
    private let supervisor: Supervisor
    private let makeStore: @Sendable () throws -> sending any SampleStore
    private let thread = LoopThread("lockstep.collector")
    private let mailbox = RuleMailbox()
    private let continuation: AsyncStream<DeviceTransition>.Continuation

    /// Creates a collector, which starts with ``run()``.
    /// - Parameters:
    ///   - supervisor: receives the status from the collector's loop.
    ///   - makeStore: opens the store, on the collector's own thread.
    public init(
        _ configuration: CollectorConfiguration, logger: Logger, supervisor: Supervisor = .disabled,
        makeStore: @escaping @Sendable () throws -> sending any SampleStore
    ) {
        self.configuration = configuration
        self.logger = logger
        self.supervisor = supervisor
        self.makeStore = makeStore
        (transitions, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(10_000))
    }

    /// Reads the rules again. If they have an error, it is logged and the old rules stay.
    public func reloadRules() {
        mailbox.withLock { $0.reloadsRules = true }
        thread.wakeup.signal()
    }

    /// Runs until the surrounding task or service group shuts down.
    /// - Throws: the error of `makeStore`, such as ``/LockstepStore/StoreError``, or an error with a description if another
    ///   collector with this id is running with another store.
    public func run() async throws {
        defer { continuation.finish() }
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await thread.run { [self] in try collect() }
        } onCancelOrGracefulShutdown: { [thread] in
            thread.stop()
        }
    }

    private func collect() throws {
        guard let store = try openStore() else { return }
        let loop = try CollectorLoop(
            configuration, store: store, wakeup: thread.wakeup, logger: logger, supervisor: supervisor,
            transitions: continuation, mailbox: mailbox)
        var clock: ClockResponder?
        // Not earlier: another collector with this id may be answering.
        loop.didConnect = { [configuration, logger] in
            guard configuration.answersClock, clock == nil else { return }
            clock = ClockResponder(configuration, logger: logger)
            clock?.start()
        }
        loop.didStayAway = {
            clock?.stop()
            clock = nil
        }
        defer { clock?.stop() }
        try loop.run { [thread] in thread.isStopping }
    }

    /// Opens the store. A standby waits before.
    /// - Returns: nil if the collector was stopped while it waited.
    private func openStore() throws -> sending (any SampleStore)? {
        guard case .standby(let storeProblem) = configuration.sessionClaim else {
            return try StorePatience.open(
                logger: logger, wakeup: thread.wakeup, until: { thread.isStopping },
                didFail: { supervisor.didTurn("the store cannot be opened") }, makeStore)
        }
        let standby = StandbyLoop(
            configuration, storeProblem: storeProblem, wakeup: thread.wakeup, logger: logger, supervisor: supervisor)
        return standby.run(until: { thread.isStopping }, makeStore: makeStore)
    }
}

/// The configuration of a ``Collector``.
public struct CollectorConfiguration: Sendable {
    /// The collector's id. The broker keeps its session under this id, so it must be unique.
    public var id: CollectorID
    /// The address of the broker.
    public var broker: BrokerAccess
    /// The prefix of all topics.
    public var root = TopicRoot.standard
    /// The groups to collect, or empty for all.
    public var groups: [GroupID] = []
    /// The share of a cluster that the collector owns; nil for all devices of the groups.
    var share: Share?
    /// The limits of a payload. A message that exceeds them is rejected.
    public var limits = PayloadLimits()
    /// The maximum number of devices. Messages of further devices are rejected.
    public var maxDevices = 100_000
    /// The maximum time by which a sample may be ahead of the collector's clock, in µs.
    public var maxFuture: Int64 = 86_400_000_000
    /// The timeouts of the life cycles.
    public var timing = LifecycleMachine.Timing()
    /// Reads the rules, at the start and for each ``Collector/reloadRules()``; nil for no rules.
    public var loadRules: (@Sendable () throws -> RuleSet)?
    /// The folder of the store, for rules on free space.
    public var storeFolder = "."
    var turn = TurnLimits()
    /// The MQTT 5 receive maximum: how many unacknowledged messages the broker may send. The default covers two turns,
    /// so that the broker can keep sending while a turn ends.
    public var receiveMaximum = UInt16(clamping: 2 * TurnLimits().messages)
    /// The program version in the published health, or nil to omit it.
    public var version: String?
    /// The interval at which the collector publishes its health, in µs.
    public var healthInterval: Int64 = 10_000_000
    /// Whether the collector answers the time requests of agents.
    public var answersClock = true
    /// What the collector does if another one with its id is running.
    public var sessionClaim = SessionClaim.ifFree
    /// The node of the broker that the connections of shares use, so that a new one begins with the last good node.
    let node = NodeChoice()

    /// What a collector does if another one with its id is running.
    public enum SessionClaim: Sendable {
        /// It does not start if the other one has another store.
        case ifFree
        /// It starts, and the other one stays disconnected.
        case takeOver
        /// It is a standby: it waits until no other one is active, and then opens the store.
        /// - Parameter storeProblem: returns why the store cannot be taken over, or nil if it exists and may be read.
        case standby(storeProblem: @Sendable () -> String?)
    }

    /// The share of a cluster, and its connections.
    struct Share: Sendable {
        let devices: CollectorShare
        /// The MQTT client id, which also names the session.
        let clientID: String
        /// The MQTT client id of the connection that answers time requests.
        let clockClientID: String
        /// The time in s after which the connection is lost if the broker's host acknowledges nothing.
        let peerTimeout: Int
    }

    var scope: CollectorScope { CollectorScope(root: root, groups: groups, share: share?.devices) }

    /// Creates a configuration with default values.
    public init(id: CollectorID, broker: BrokerAddress) {
        self.id = id
        self.broker = BrokerAccess(broker)
    }

    /// The groups in the health reports; nil for all.
    var reportedGroups: [String]? { groups.isEmpty ? nil : groups.map(\.rawValue) }

    var healthTopic: String { root.topic(group: groups.first ?? .standard, collector: id) }
}

/// How long a collector tries to open its store at its start.
///
/// A server that cannot be reached is tried for ever, as in a run and as the broker. What a server refuses is an error soon, so
/// that wrong settings show; but it may be busy, or another collector may change the tables at this time.
public struct StorePatience {
    /// The time after the first refusal from which another one is final.
    static let limit = Duration.seconds(5)

    /// The time of the first refusal since the server could not be reached.
    private var refusedAt: ContinuousClock.Instant?

    /// Returns whether the store is opened again after an attempt failed.
    mutating func allowsRetry(after error: any Error, at now: ContinuousClock.Instant) -> Bool {
        guard let error = error as? StoreError, error.mayPass else { return false }
        if error.code == .unreachable {
            refusedAt = nil
            return true
        }
        let first = refusedAt ?? now
        refusedAt = first
        return now - first < Self.limit
    }

    /// Calls `open` until it succeeds, or fails for a reason that does not pass.
    /// - Parameters:
    ///   - wakeup: signalled when the collector is to stop.
    ///   - didFail: called after each attempt that is repeated.
    /// - Returns: nil if the collector is to stop.
    public static func open(
        logger: Logger, wakeup: Wakeup = Wakeup(), until isStopping: () -> Bool = { false },
        didFail: () -> Void = {}, _ open: () throws -> sending any SampleStore
    ) throws -> sending (any SampleStore)? {
        var patience = StorePatience()
        var logged = ""
        while !isStopping() {
            do { return try open() } catch {
                guard patience.allowsRetry(after: error, at: .now) else { throw error }
                if logged != "\(error)" {
                    logged = "\(error)"
                    logger.warning("cannot open the store, retrying", metadata: ["error": "\(error)"])
                }
            }
            didFail()
            // Collectors that create tables at the same time should not try again together.
            wakeup.wait(for: nil, until: .now + .milliseconds(.random(in: 300...700)))
        }
        return nil
    }
}
