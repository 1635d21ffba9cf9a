import LockstepMQTT
public import LockstepModel
public import LockstepStore
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
