import LockstepModel
import LockstepSensors
import Logging

/// Writes to the outbox.
extension AgentState {
    /// Returns the action that writes the blocks, together with unsaved blocks and the removal of acknowledged batches.
    /// - Parameter isForced: whether to write even before the retry time of a failed write.
    mutating func write(_ blocks: [SampleBlock], at moment: Moment, isForced: Bool = false) -> [Action] {
        let isRemovalDue = removalDeadline.map { moment.boot >= $0 } ?? false
        guard !blocks.isEmpty || !unsaved.isEmpty || isRemovalDue else { return [] }
        // After a failure, wait for the retry time instead of encoding all blocks again for every window.
        guard isForced || !isOutboxFailing || problems.isRetryDue("outbox", at: moment.boot) else {
            return keepUnsaved(blocks)
        }
        let all = unsaved + blocks
        unsaved = []
        return [.write(all, removing: removable)]
    }

    mutating func didWrite(
        _ accepted: Outbox.Accepted, droppedSamples: Int64, at moment: Moment
    ) -> [Action] {
        removable = [:]
        removalDeadline = nil
        var actions = keepUnsaved(accepted.unwritten)
        actions.reserveCapacity(accepted.entries.count)
        if accepted.dropped.samples > 0 { actions += didDrop(accepted, total: droppedSamples) }
        for entry in accepted.entries { actions.append(.publishLive(entry)) }
        isOutboxFailing = accepted.error != nil
        if let error = accepted.error {
            actions += writeFailure(error, at: moment.boot)
        } else {
            problems.resolve("outbox")
            if deliveryProblems.unwritable != nil {
                deliveryProblems.unwritable = nil
                actions.append(.log(.info, "outbox can be written again"))
            }
        }
        return actions
    }

    mutating func didFailToWrite(_ blocks: [SampleBlock], _ error: any Error, at moment: Moment) -> [Action] {
        isOutboxFailing = true
        return keepUnsaved(blocks) + writeFailure(error, at: moment.boot)
    }

    private mutating func writeFailure(_ error: any Error, at boot: Int64) -> [Action] {
        deliveryProblems.unwritable = "\(error)"
        // The failed write counts as an attempt, so that the next one follows a second later.
        _ = problems.isRetryDue("outbox", at: boot)
        guard problems.isNew("outbox") else { return [] }
        return [.log(.error, "cannot write outbox, samples kept in memory", ["error": "\(error)"])]
    }

    private mutating func didDrop(_ accepted: Outbox.Accepted, total: Int64) -> [Action] {
        let dropped = accepted.dropped
        delivery.forget(dropped.batches)
        presence.isChanged = true
        var actions: [Action] = []
        if dropped.agedSamples > 0 {
            let days = configuration.outboxLimits.age / 86_400_000_000
            let limit = days > 0 ? "\(days) d" : "\(configuration.outboxLimits.age / 1_000_000) s"
            actions.append(
                .log(
                    .warning, "samples dropped",
                    [
                        "samples": "\(dropped.agedSamples)", "reason": "outbox-age", "limit": "\(limit)",
                        "total": "\(total)",
                    ]))
        }
        let oldest = dropped.samples - dropped.agedSamples
        if oldest > 0 {
            let reason = accepted.wasDiskFull ? "disk-full" : "outbox-size"
            actions.append(
                .log(
                    .warning, "samples dropped",
                    ["samples": "\(oldest)", "reason": "\(reason)", "total": "\(total)"]))
        }
        return actions
    }

    /// Keeps blocks in memory, and drops the oldest beyond the limit.
    private mutating func keepUnsaved(_ blocks: [SampleBlock]) -> [Action] {
        guard !blocks.isEmpty else { return [] }
        unsaved += blocks
        var count = unsavedCount
        guard count > Self.maxUnsavedSamples else { return [] }
        while count > Self.maxUnsavedSamples, let oldest = unsaved.first {
            unsaved.removeFirst()
            count -= oldest.count
            presence.unsavedDropped += Int64(oldest.count)
        }
        presence.isChanged = true
        // The problem is resolved together with "outbox", when the outbox can be written again.
        guard problems.isNew("outbox memory") else { return [] }
        return [.log(.warning, "samples dropped", ["reason": "memory-limit", "total": "\(presence.unsavedDropped)"])]
    }

    /// The number of samples in memory that could not be written.
    var unsavedCount: Int { unsaved.reduce(0) { $0 + $1.count } }

    /// Marks acknowledged batches for removal, with the next write or at the removal deadline.
    mutating func markRemovable(_ batches: [Epoch: SequenceSet], at boot: Int64) {
        for (epoch, set) in batches { removable[epoch, default: SequenceSet()].formUnion(set) }
        removalDeadline = removalDeadline ?? boot + Self.removalDelay
    }
}
