import LockstepMQTT
public import LockstepModel
public import LockstepStore
public import Logging
public import ServiceLifecycle
import Synchronization

/// A service that shares the devices of a store with other collectors of the same cluster.
///
/// Each share of the devices has one owner at a time. When an owner ends, hangs or loses its connection, another collector
/// takes over, and the store ignores what the previous owner writes about states afterwards.
public final class ClusterCollector: Service {
    /// The state transitions of all devices of this collector, see ``Collector/transitions``.
    public let transitions: AsyncStream<DeviceTransition>

    private let configuration: ClusterConfiguration
    private let logger: Logger
    private let supervisor: Supervisor
    private let makeStore: @Sendable () throws -> sending any SampleStore
    private let continuation: AsyncStream<DeviceTransition>.Continuation
    private let thread = LoopThread("lockstep.cluster")
    private let rules: ClusterRules?
    /// The last run of each share.
    private let runs = Mutex<[CollectorShare: ShareRun]>([:])

    /// Creates a member, which starts with ``run()``.
    /// - Parameters:
    ///   - supervisor: receives the status from the member's loop.
    ///   - makeStore: opens the store. It is called for each claim of a share, on a thread of its own.
    public init(
        _ configuration: ClusterConfiguration, logger: Logger, supervisor: Supervisor = .disabled,
        makeStore: @escaping @Sendable () throws -> sending any SampleStore
    ) {
        var configuration = configuration
        rules = configuration.collector.loadRules.map(ClusterRules.init)
        if let rules {
            // So that the first shares have rules even if the file becomes faulty now. Otherwise they are read later.
            _ = try? rules.reload()
            configuration.collector.loadRules = { try rules.current() }
        }
        self.configuration = configuration
        self.logger = logger
        self.supervisor = supervisor
        self.makeStore = makeStore
        (transitions, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(10_000))
    }

    /// Reads the rules of all shares again. If they have an error, it is logged and the old rules stay.
    public func reloadRules() {
        guard let rules else { return }
        do { try rules.reload() } catch {
            logger.error(
                "rules not loaded, the old rules stay",
                metadata: ["error": "\(error)", "hint": "correct the file and send SIGHUP"])
            return
        }
        for run in runs.withLock({ Array($0.values) }) { run.reloadRules() }
    }

    /// Runs until the surrounding task or service group shuts down, and all shares are released.
    public func run() async {
        defer { continuation.finish() }
        await withTaskCancellationOrGracefulShutdownHandler {
            await thread.run { [self] in
                let loop = ClusterLoop(
                    configuration, wakeup: thread.wakeup, logger: logger, supervisor: supervisor,
                    checkStore: { [makeStore] in (try? makeStore().close()) != nil }
                ) { [self] share, lease, floor in
                    let run = ShareRun(
                        share, claiming: lease, floor: floor, configuration, logger: logger, transitions: continuation,
                        makeStore: makeStore)
                    runs.withLock { $0[share] = run }
                    return run
                }
                loop.run { [thread] in thread.isStopping }
            }
        } onCancelOrGracefulShutdown: { [thread] in
            thread.stop()
        }
    }
}
