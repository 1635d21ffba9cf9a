import LockstepMQTT
import LockstepModel
import LockstepSupervision
import Logging

extension AgentLoop {
    /// Goes on in a new epoch where the outbox was restored from an older copy. Tried until it is written.
    func leaveRestoredEpoch(at boot: Int64) {
        guard let ack = contradiction else { return }
        guard outbox.isOlder(than: ack) else {
            contradiction = nil
            return
        }
        guard problems.isRetryDue("restored", at: boot) else { return }
        do {
            let pending = try outbox.startEpoch(after: ack) { supervisor.didTurn(summary) }
            delivery = Delivery(
                pending: pending, waitsForCollector: configuration.acknowledgedBy == .collector)
        } catch {
            if problems.isNew("restored") { logger.error("\(error); the new epoch waits") }
            return
        }
        contradiction = nil
        problems.mend("restored")
        logger.warning(
            """
            the collector has batches that this outbox never sent: it was restored from an older copy; its samples are \
            sent again as epoch \(outbox.epoch)
            """)
        reconnectForEpoch()
    }

    /// The session's number, and the will the broker holds, belong to the old epoch.
    func reconnectForEpoch() {
        link.reconnect()
        delivery.didDisconnect()
        outbox.didDisconnect()
        backlogFrom = .max
    }
}
