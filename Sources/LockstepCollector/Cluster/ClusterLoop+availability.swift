import Dispatch
import LockstepMQTT
import LockstepModel
import Logging
import Synchronization

// Whether this collector can collect.

extension ClusterLoop {
    static let unreachable = "the lease server cannot be reached"

    /// Lets the others take over while this collector cannot collect, and returns when it can.
    func updateAvailability(at now: Int64) {
        if let isOpened = results.storeCheck.withLock({ $0.take() }) {
            canOpenStore = isOpened
            checkAt = isOpened ? nil : now + Self.retryDelay
        }
        if !canOpenStore, let due = checkAt, now >= due {
            checkAt = nil
            DispatchQueue(label: "lockstep.cluster.store").async { [checkStore, results, wakeup] in
                let isOpened = checkStore()
                results.storeCheck.withLock { $0 = isOpened }
                wakeup.signal()
            }
        }
        // By then, leases that could not be renewed either have ended.
        canReadLeases = watcher == nil || now - leasesReadAt < configuration.leaseTiming.validity
        let hanging = runs.filter { $0.value.isHanging(at: now) }.keys.map(\.description).sorted()
        let isAvailable = canOpenStore && canReadLeases && hanging.isEmpty
        guard isAvailable != view.isAvailable else { return }
        view.setAvailable(isAvailable, at: now)
        publishMembership(isRunning: isAvailable)
        if isAvailable {
            logger.info("available again")
        } else {
            let reason =
                !canOpenStore
                ? "the store cannot be opened"
                : !canReadLeases ? Self.unreachable : "hanging: \(hanging.joined(separator: ", "))"
            logger.error("leaving the shares to the other collectors", metadata: ["error": "\(reason)"])
        }
    }
}
