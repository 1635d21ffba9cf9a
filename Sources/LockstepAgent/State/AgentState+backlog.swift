import LockstepModel
import Logging

/// Backlog: batches in the outbox that were not published live.
extension AgentState {
    /// Starts the backlog of this turn.
    mutating func beginBacklog(at boot: Int64) -> [Action] {
        guard isConnected, contradictingAck == nil, boot >= backlogStart else { return [] }
        backlogReads = 0
        return publishNextBacklog(at: boot)
    }

    /// Returns the action for the next batch, within the byte rate and the limit of a turn.
    private mutating func publishNextBacklog(at boot: Int64) -> [Action] {
        guard delivery.canSendBacklog, linkWindow.isOpen, backlogReads < Self.maxBacklogReads, budget.isOpen(at: boot),
            let position = delivery.nextBacklogBatch
        else { return [] }
        backlogReads += 1
        return [.publishBacklog(position)]
    }

    mutating func didPublishBacklog(_ position: BatchPosition, _ outcome: PublishOutcome, at boot: Int64) -> [Action] {
        switch outcome {
        case .published(let id, let bytes):
            deliveryProblems.unreadable = nil
            delivery.didPublishBacklog(position, as: id, at: boot)
            linkWindow.didPublish(id, bytes: bytes, isBacklog: true, at: boot)
            budget.spend(bytes)
            return publishNextBacklog(at: boot)
        case .missing:
            deliveryProblems.unreadable = nil
            delivery.forget([position.epoch: SequenceSet([position.seq...position.seq])])
            return publishNextBacklog(at: boot)
        case .tooLarge:
            deliveryProblems.unreadable = nil
            let actions = markTooLarge(position)
            return actions + publishNextBacklog(at: boot)
        case .notPublished: return []
        case .failed(let error):
            if error is OutboxError { deliveryProblems.unreadable = "\(error)" }
            guard problems.isNew("backlog") else { return [] }
            return [.log(.error, "cannot publish backlog", ["error": "\(error)"])]
        }
    }

    /// Reports that the outbox cannot be written. The backlog is published nevertheless, because it can still be read.
    mutating func reportBacklogNotRecorded(_ error: any Error) -> [Action] {
        guard problems.isNew("outbox") else { return [] }
        return [.log(.error, "cannot write outbox, backlog published nevertheless", ["error": "\(error)"])]
    }
}
