// The second half of a turn: commit, then settle or roll back, then publish.

extension TurnMachine {
    /// Returns whether a commit is necessary now.
    mutating func isCommitDue(_ urgency: GroupUrgency, at now: Instant) -> Bool {
        if hasHandedOver { return true }
        switch urgency {
        case .none: return false
        case .urgent: return true
        case .deferrable:
            let since = deferredSince ?? now
            deferredSince = since
            return isLastTurn || now - since >= Self.maxDeferral
        }
    }

    mutating func didCommit() -> Action {
        hasHandedOver = false
        deferredSince = nil
        isStalled = false
        return .settle
    }

    /// Rolls back: no message of this turn may be acknowledged, so that the broker delivers them again.
    mutating func didFailToCommit() -> Action {
        hasHandedOver = false
        deferredSince = nil
        isStalled = true
        return .rollBack
    }

    /// Publishes the next portion of the pending states, and the acknowledgements and health that are due.
    mutating func publish() -> Action {
        guard isConnected else { return .publish(states: 0..<0, acknowledgements: false) }
        let portion = pendingStates.prefix(Self.maxStatesPerTurn)
        pendingStates = portion.upperBound..<pendingStates.upperBound
        return .publish(states: portion, acknowledgements: true)
    }
}
