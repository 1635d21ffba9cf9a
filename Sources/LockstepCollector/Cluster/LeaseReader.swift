import Dispatch
import LockstepMQTT
import LockstepNATS
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

    private struct Content {
        var reading = Reading()
        var isStopping = false
    }

    private let configuration: ClusterConfiguration
    private let logger: Logger
    private let content = Mutex(Content())
    private let queue = DispatchQueue(label: "lockstep.leases")
    private let own = Wakeup()
    private let reader: Wakeup

    /// - Parameter wakeup: wakes the reader of the results.
    init(_ configuration: ClusterConfiguration, wakeup: Wakeup, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        reader = wakeup
    }

    /// Starts the thread.
    func start() { queue.async { [self] in run() } }

    /// Ends the thread, and waits for it: at most for the timeouts of a request.
    func stop() {
        content.withLock { $0.isStopping = true }
        own.signal()
        queue.sync {}
    }

    /// Returns the leases that were read since the last call.
    func take() -> Reading {
        content.withLock { content in
            defer { content.reading = Reading() }
            return content.reading
        }
    }

    private var isStopping: Bool { content.withLock { $0.isStopping } }

    private func run() {
        let bucket = configuration.openLeases()
        var hasFailed = false
        while !isStopping {
            do throws(NATSError) {
                for share in configuration.shares where !isStopping {
                    let lease = ObservedLease(try bucket.value(of: configuration.leaseKey(of: share)))
                    content.withLock { $0.reading.observed[share] = lease }
                }
                content.withLock { $0.reading.isComplete = true }
                if hasFailed { logger.info("leases can be read again") }
                hasFailed = false
            } catch {
                if !hasFailed {
                    logger.warning("cannot read leases, retrying", metadata: ["error": "\(error)"])
                }
                hasFailed = true
            }
            reader.signal()
            own.wait(for: nil, until: .now + (hasFailed ? .milliseconds(500) : Self.interval))
        }
    }
}
