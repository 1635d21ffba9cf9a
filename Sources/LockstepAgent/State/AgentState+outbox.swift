import LockstepModel
import LockstepSensors
import Logging

/// Writes to the outbox.
extension AgentState {
    /// Returns the action that writes the blocks, together with unsaved blocks and the removal of acknowledged batches.
    /// - Parameter isForced: whether to write even before the retry time of a failed write.
    mutating func write(_ blocks: [SampleBlock], at moment: Moment, isForced: Bool = false) -> [Action] {
        let isRemovalDue = delivery.removalDeadline.map { moment.boot >= $0 } ?? false
        guard !blocks.isEmpty || !unsaved.isEmpty || isRemovalDue else { return [] }
        // After a failure, wait for the retry time instead of encoding all blocks again for every window.
        guard isForced || unwritable == nil || problems.isRetryDue("outbox", at: moment.boot) else {
            return keepUnsaved(blocks)
        }
        let all = unsaved + blocks
        unsaved = []
        return [.write(all, removing: delivery.removable[0] ?? [:])]
    }

    mutating func didWrite(
        _ accepted: Outbox.Accepted, droppedSamples: Int64, at moment: Moment
    ) -> [Action] {
        delivery.didRemove()
        var actions = keepUnsaved(accepted.unwritten.map(\.samples))
        actions.reserveCapacity(accepted.entries.count)
        if accepted.dropped.samples > 0 { actions += didDrop(accepted, total: droppedSamples) }
        for entry in accepted.entries { actions.append(.publishLive(entry)) }
        if let error = accepted.error {
            actions += writeFailure(error, at: moment.boot)
        } else {
            problems.resolve("outbox")
            if unwritable != nil {
                unwritable = nil
                actions.append(.log(.info, "outbox can be written again"))
            }
        }
        return actions
    }

    mutating func didFailToWrite(_ blocks: [SampleBlock], _ error: any Error, at moment: Moment) -> [Action] {
        keepUnsaved(blocks) + writeFailure(error, at: moment.boot)
    }

    private mutating func writeFailure(_ error: any Error, at boot: Int64) -> [Action] {
        unwritable = "\(error)"
        // The failed write counts as an attempt, so that the next one follows a second later.
        _ = problems.isRetryDue("outbox", at: boot)
        guard problems.isNew("outbox") else { return [] }
        return [.log(.error, "cannot write outbox, samples kept in memory", ["error": "\(error)"])]
    }

    private mutating func didDrop(_ accepted: Outbox.Accepted, total: Int64) -> [Action] {
        let dropped = accepted.dropped
        for (device, batches) in dropped.batches { delivery.forget(batches, of: device) }
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
}
