import LockstepMQTT
import LockstepModel
import Logging
import Synchronization

/// Claims, renews and releases one lease, on a thread of its own. ``LeaseClaim`` decides.
///
/// The lease outlives its connections: it ends when another collector has claimed it, or when it was not renewed in time.
final class LeaseKeeper {
    /// The time to wait after a failed request, in ms.
    private static let retryDelay = 200

    private let lease: Lease
    private let key: String
    private let bucket: KeyValueBucket
    private var claim: LeaseClaim
    private var renewAt: Int64 = 0
    private let deadline: Int64
    private var problem: NATSError?

    /// - Parameters:
    ///   - observed: the lease when it was found to be free.
    ///   - floor: the lowest token to claim.
    init(_ lease: Lease, _ configuration: ClusterConfiguration, claiming observed: ObservedLease, floor: FencingToken) {
        self.lease = lease
        key = configuration.leaseKey(of: lease.share)
        bucket = configuration.openLeases()
        let now = Moment.now()
        claim = LeaseClaim(
            LeaseOwner(collector: configuration.collector.id), claiming: observed,
            floor: max(floor.rawValue, LeaseClaim.floor(at: now.wall)))
        deadline = now.boot + Lease.validity
    }

    /// Runs until the lease is released or lost.
    func run() {
        while !lease.isReleasing, lease.end == nil {
            let now = Moment.now().boot
            if let reason = reasonToEnd(at: now) { return lease.end(reason) }
            if lease.takeRequest() || now >= renewAt {
                if !advance() { lease.keeper.wait(for: nil, until: .now + .milliseconds(Self.retryDelay)) }
            } else {
                lease.keeper.wait(for: nil, until: .now + .microseconds(min(renewAt - now, 500_000)))
            }
        }
        release()
        lease.end("released")
    }

    private func reasonToEnd(at now: Int64) -> String? {
        let place = "the key '\(key)' of the bucket '\(ClusterConfiguration.leaseBucket)'"
        switch claim.phase {
        case .lost: return "another collector has claimed the share"
        case .deleted: return "\(place) was deleted"
        case .exhausted:
            return "no token is higher than that of the last claim: delete \(place), which no collector has written"
        case .claiming, .held: break
        }
        if lease.isHanging(at: now) { return "a turn of the collector took longer than \(Lease.maxTurn / 1_000_000) s" }
        let isLate = lease.token == nil ? now > deadline : !lease.isValid(at: now)
        guard isLate else { return nil }
        return "the lease was not renewed in time" + (problem.map { ": \($0)" } ?? "")
    }

    /// Takes the next step.
    /// - Returns: whether it succeeded.
    private func advance() -> Bool {
        do throws(NATSError) {
            switch claim.next {
            case .write(let record, let revision):
                let sentAt = Moment.now().boot
                do throws(NATSError) {
                    claim.wrote(revision: try bucket.write(record.payload, to: key, expecting: revision))
                } catch {
                    claim.writeFailed()
                    throw error
                }
                lease.confirm(claim.token, sentAt: sentAt)
                renewAt = sentAt + Lease.renewal
                problem = nil
            case .read: claim.read(ObservedLease(try bucket.value(of: key)))
            case nil: break
            }
            return true
        } catch {
            problem = error
            // What was asked for is still to be done.
            renewAt = 0
            return false
        }
    }

    /// Releases the lease. If this fails, the others wait until it has expired.
    private func release() {
        if case .read = claim.next, let entry = try? bucket.value(of: key) { claim.read(ObservedLease(entry)) }
        guard let (record, revision) = claim.release else { return }
        _ = try? bucket.write(record.payload, to: key, expecting: revision)
    }
}

/// Reads the leases of all shares of a cluster from a key-value bucket at intervals, on a thread of its own.
final class LeaseReader: Sendable {
    /// The time between two passes.
    private static let interval = Duration.seconds(2)

    /// What was read since the last call of ``take()``.
    struct Reading {
        var observed: [CollectorShare: ObservedLease] = [:]
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
