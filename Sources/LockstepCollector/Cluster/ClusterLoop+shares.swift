import LockstepMQTT
import LockstepModel
import Logging
import Synchronization

// The collection of the shares.

extension ClusterLoop {
    /// The maximum number of shares of a collector. Each needs up to three threads, up to three connections to the broker
    /// and the lease server, and one to the store.
    static let maxShares = 32

    func perform(_ action: ClusterView.Action, at now: Int64) {
        switch action {
        case .start(let share):
            guard now >= retryAt[share] ?? .min else { return }
            guard runs.count < Self.maxShares else {
                if !hasReportedLimit {
                    logger.error(
                        "too many shares for this collector, the rest is not collected",
                        metadata: ["maximum": "\(Self.maxShares)", "hint": "start more collectors of the cluster"])
                }
                hasReportedLimit = true
                return
            }
            hasClaimed = true
            logger.info("claiming share", metadata: ["share": "\(share)"])
            let run = makeRun(share, floors[share] ?? FencingToken(rawValue: 0), view.freeLease(of: share))
            runs[share] = run
            run.start { [results, wakeup] problem in
                results.ended.withLock { $0.append((share, problem)) }
                wakeup.signal()
            }
        case .stop(let share): runs[share]?.stop()
        }
    }

    func collectEnds(at now: Int64) {
        let ended = results.ended.withLock { ended in
            defer { ended = [] }
            return ended
        }
        for (share, problem) in ended {
            runs[share] = nil
            hasReportedLimit = false
            guard let problem else {
                logger.info("share released", metadata: ["share": "\(share)"])
                continue
            }
            retryAt[share] = now + Self.retryDelay
            if problem.isStoreClosed, canOpenStore {
                canOpenStore = false
                checkAt = now + Self.retryDelay
            }
            if let needed = problem.neededToken { floors[share] = needed }
            logger.warning("share lost", metadata: ["share": "\(share)", "error": "\(problem.description)"])
        }
    }
}
