import LockstepModel

/// The batches of an epoch that were never published, so that no collector can have stored them.
///
/// The set is saved for the next start. While backlog is being published, an empty set is saved: a saved set that
/// contains published batches would make a correct acknowledgement look wrong.
struct UnpublishedBatches {
    /// The numbers of the batches.
    var batches: SequenceSet
    /// The set in the outbox file.
    private(set) var saved: SequenceSet
    /// Whether backlog is being published.
    var isSending = false

    init(saved: SequenceSet = SequenceSet()) {
        batches = saved
        self.saved = saved
    }

    /// The set to write to the outbox file.
    var toSave: SequenceSet { isSending ? SequenceSet() : batches }
    var isUnsaved: Bool { saved != toSave }
    mutating func didSave() { saved = toSave }
}
