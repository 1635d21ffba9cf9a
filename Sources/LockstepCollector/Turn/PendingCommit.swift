import LockstepStore

/// The results of a turn that wait for its commit.
struct PendingCommit {
    /// The transitions to announce after the commit.
    private(set) var transitions: [DeviceTransition] = []
    /// The rejected messages to report after the commit.
    private(set) var rejected: [RejectedMessage] = []
    /// The samples of the first group since the last successful commit. If the next commit fails, they are written
    /// again to test whether the store has recovered. This is safe because none of them was acknowledged.
    private(set) var trialGroup: IngestGroup?

    /// Whether there are samples to test the store with.
    var hasTrialGroup: Bool { trialGroup?.isEmpty == false }

    /// Adds the results of a group that is handed to the store.
    mutating func add(_ group: IngestGroup) {
        transitions += group.transitions
        rejected += group.rejected
        guard trialGroup == nil, !group.runs.isEmpty || !group.dropped.isEmpty else { return }
        trialGroup = IngestGroup(dropped: group.dropped)
        trialGroup?.runs = group.runs
    }

    /// Discards the results of a turn that could not be written. Keeps the samples to test the store with.
    mutating func rollBack() {
        transitions = []
        rejected = []
    }

    /// Clears everything after a commit. Keeps the capacity of the arrays.
    mutating func clear() {
        transitions.removeAll(keepingCapacity: true)
        rejected.removeAll(keepingCapacity: true)
        trialGroup = nil
    }

    /// Clears the samples to test the store with, after they were written.
    mutating func clearTrialGroup() { trialGroup = nil }
}
