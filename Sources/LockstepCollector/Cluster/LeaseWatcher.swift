import Dispatch
import LockstepMQTT
import LockstepNATS
import Logging
import Synchronization

/// Reads the leases of all shares of a cluster from a key-value bucket at intervals, on a thread of its own.
final class LeaseWatcher: Sendable {
    /// The time between two passes.
    private static let interval = Duration.seconds(2)

    private struct Content {
        var observed: [CollectorShare: ObservedLease] = [:]
        var isStopping = false
    }

    private let configuration: ClusterConfiguration
    private let options: NATSOptions
    private let logger: Logger
    private let content = Mutex(Content())
    private let own = Wakeup()
    private let reader: Wakeup

    /// - Parameter wakeup: wakes the reader of the results.
    init(_ configuration: ClusterConfiguration, _ options: NATSOptions, wakeup: Wakeup, logger: Logger) {
        self.configuration = configuration
        self.options = options
        self.logger = logger
        reader = wakeup
    }

    /// Starts the thread.
    func start() { DispatchQueue(label: "lockstep.leases").async { [self] in run() } }

    /// Ends the thread, at the latest after the timeout of a request.
    func stop() {
        content.withLock { $0.isStopping = true }
        own.signal()
    }

    /// Returns the leases that were read since the last call.
    func take() -> [CollectorShare: ObservedLease] {
        content.withLock { content in
            defer { content.observed = [:] }
            return content.observed
        }
    }

    private var isStopping: Bool { content.withLock { $0.isStopping } }

    private func run() {
        let bucket = KeyValueBucket(ClusterConfiguration.leaseBucket, options)
        var hasFailed = false
        while !isStopping {
            do throws(NATSError) {
                for share in configuration.shares where !isStopping {
                    let lease = ObservedLease(try bucket.value(of: configuration.leaseKey(of: share)))
                    content.withLock { $0.observed[share] = lease }
                }
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
