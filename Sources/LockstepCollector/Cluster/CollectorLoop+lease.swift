import LockstepMQTT
import LockstepModel
import LockstepStore
import Logging

// A loop that collects a share under a lease. It connects once, and ends with its connection.

extension CollectorLoop {
    /// Whether the loop has to end without a last commit.
    var hasLostShare: Bool { lease.map { $0.end != nil || problem != nil } ?? false }

    /// Whether messages may be read. Before the share is taken over, only the broker's answer to the connect is read, with
    /// what the broker has sent together with it. It is acknowledged with the first packet after the takeover.
    var mayRead: Bool { lease == nil || isAdmitted }

    /// Takes over the share on a connection that was just established.
    ///
    /// The connection has ended that of the previous owner: the broker processes nothing from it any more. If it is a
    /// cluster of nodes, the lease has ended before, see ``LeaseTiming``. A lease that is confirmed afterwards shows that no
    /// later owner exists, or that it has yet to connect. What the previous owner has published is in the store, because
    /// it was committed before.
    func takeOver() {
        guard let lease, !isAdmitted, problem == nil else { return }
        do {
            let connected = Moment.now().boot
            lease.requestConfirmation()
            let deadline = ContinuousClock.now + ShareRun.patience
            while !lease.isConfirmed(after: connected) {
                if let end = lease.end { throw LeaseError(end) }
                guard ContinuousClock.now < deadline else { throw LeaseError("the lease was not confirmed in time") }
                link.waitForSignal(until: .now + .milliseconds(200))
            }
            guard let token = lease.token else { throw LeaseError("the lease has ended") }
            try writer.takeOver(token) { [share = lease.share] in share.contains($0) }
            try restore()
            // The states of rules are read after the token was written.
            startRules()
            isAdmitted = true
            logger.info("share taken over", metadata: ["token": "\(token)", "devices": "\(registry.deviceCount)"])
        } catch {
            neededToken = (error as? StoreError)?.neededToken
            isStoreCutOff = (error as? StoreError)?.isCutOff ?? false
            problem = "\(error)"
        }
    }
}
