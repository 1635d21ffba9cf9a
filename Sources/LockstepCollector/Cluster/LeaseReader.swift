import LockstepMQTT
import Logging
import Synchronization

/// Reads the leases of all shares of a cluster from a key-value bucket at intervals, on a thread of its own.
final class LeaseReader: Sendable {
    /// The time between two passes.
    private static let interval = Duration.seconds(2)

    /// What was read since the last call of ``take()``.
    struct Reading {
        var observed: [CollectorShare: ObservedLease] = [:]
        /// Whether the leases of all shares were read.
        var isComplete = false
    }

    private let configuration: ClusterConfiguration
    private let logger: Logger
    private let content = Mutex(Reading())
    private let thread = LoopThread("lockstep.leases")
    private let user: Wakeup

    /// - Parameter wakeup: wakes the user of the results.
    init(_ configuration: ClusterConfiguration, wakeup: Wakeup, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        user = wakeup
    }

    /// Starts the thread.
    func start() { thread.start { [self] in run() } }

    /// Ends the thread, and waits for it: at most for the timeouts of a request.
    func stop() { thread.finish() }

    /// Returns the leases that were read since the last call.
    func take() -> Reading {
        content.withLock { reading in
            defer { reading = Reading() }
            return reading
        }
    }

    private func run() {
        let bucket = configuration.openLeases()
        var hasFailed = false
        while !thread.isStopping {
            do throws(NATSError) {
                for share in configuration.shares where !thread.isStopping {
                    let lease = ObservedLease(try bucket.value(of: configuration.leaseKey(of: share)))
                    content.withLock { $0.observed[share] = lease }
                }
                content.withLock { $0.isComplete = true }
                if hasFailed { logger.info("leases can be read again") }
                hasFailed = false
            } catch {
                if !hasFailed {
                    logger.warning("cannot read leases, retrying", metadata: ["error": "\(error)"])
                }
                hasFailed = true
            }
            user.signal()
            thread.wakeup.wait(for: nil, until: .now + (hasFailed ? .milliseconds(500) : Self.interval))
        }
    }
}
