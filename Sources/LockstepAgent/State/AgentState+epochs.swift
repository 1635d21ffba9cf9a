import LockstepModel
import LockstepSensors
import Logging

/// Clocks and epochs.
extension AgentState {
    mutating func beginTurn(at moment: Moment) -> [Action] {
        var actions: [Action] = []
        if case .stepped(let step) = timeLine.observe(moment) { actions += clockStepped(by: step, at: moment) }
        actions += startRequiredEpoch(at: moment.boot)
        if let began = suspend.observe(moment), presence.phase == .foreground {
            // Report both phases with their own times: the suspend is known only after the wake.
            presence.setPhase(.background, reason: "suspend")
            actions.append(.publishPresence(presence.report(at: timeLine.timestamp(boot: began))))
            presence.setPhase(.foreground, reason: "wake")
            actions.append(.publishPresence(presence.report(at: timeLine.timestamp(boot: moment.boot))))
        }
        if leases.expire(at: moment.boot) { actions += updateRates(at: moment) }
        return actions
    }

    /// Ends the epoch: timestamps after the step may be lower than those before it.
    private mutating func clockStepped(by step: Int64, at moment: Moment) -> [Action] {
        finishGraph(at: moment.boot)
        var actions = write(coalescer.takeAll(), at: moment)
        actions.append(.log(.warning, "clock stepped, starting new epoch", ["step_seconds": "\(Double(step) / 1e6)"]))
        stamper.startEpoch()
        needsEpoch = true
        return actions
    }

    /// Starts the epoch that a clock step requires. Retries until it is written, because an epoch must not span a clock
    /// step.
    private mutating func startRequiredEpoch(at boot: Int64) -> [Action] {
        needsEpoch && problems.isRetryDue("epoch", at: boot) ? [.startEpoch] : []
    }

    mutating func didStartEpoch(_ epoch: Epoch) -> [Action] {
        needsEpoch = false
        problems.resolve("epoch")
        return [.log(.info, "epoch started", ["epoch": "\(epoch)"])] + reconnect()
    }

    mutating func didFailToStartEpoch(_ error: any Error) -> [Action] {
        problems.isNew("epoch") ? [.log(.error, "cannot start new epoch, retrying", ["error": "\(error)"])] : []
    }

    /// Replaces the epoch if the outbox is still older than the acknowledgement.
    mutating func didCompareOutbox(_ ack: Acknowledgement, isOlder: Bool, at boot: Int64) -> [Action] {
        guard isOlder else {
            contradictingAck = nil
            return []
        }
        return problems.isRetryDue("restored", at: boot) ? [.replaceEpoch(after: ack)] : []
    }

    mutating func didReplaceEpoch(_ epoch: Epoch, pending: [Epoch: SequenceSet]) -> [Action] {
        delivery.replace(0, pending: pending)
        contradictingAck = nil
        problems.resolve("restored")
        return [
            .log(.warning, "outbox was restored from an older copy, sending its samples again", ["epoch": "\(epoch)"])
        ] + reconnect()
    }

    mutating func didFailToReplaceEpoch(_ error: any Error) -> [Action] {
        guard problems.isNew("restored") else { return [] }
        return [.log(.error, "cannot start new epoch after a restore, retrying", ["error": "\(error)"])]
    }

    /// Reconnects, because the session and the last will at the broker belong to the old epoch.
    private mutating func reconnect() -> [Action] {
        delivery.didDisconnect()
        return [.reconnect]
    }
}
