import LockstepModel

/// Which batches of an epoch no broker was ever given: nobody can have stored them.
///
/// What is saved of it is for an agent that ends without having come to send them. While backlog leaves, none are
/// saved: the saved ones must never be some that have left, or an honest acknowledgement would look wrong.
struct UnpublishedBatches {
    var batches: SequenceSet
    private(set) var saved: SequenceSet
    /// Whether backlog may leave.
    var isSending = false

    init(saved: SequenceSet = SequenceSet()) {
        batches = saved
        self.saved = saved
    }

    var toSave: SequenceSet { isSending ? SequenceSet() : batches }
    var isUnsaved: Bool { saved != toSave }
    mutating func didSave() { saved = toSave }
}
