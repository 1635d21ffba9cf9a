import LockstepModel

/// The rows in an outbox file, by their ids: which of them are still needed.
///
/// The rows of acknowledged batches stay in the file for a while and are deleted together, so that a deletion costs
/// little. Most of the freed pages are used again before a checkpoint copies them. Each commit records the watermark, so
/// that acknowledged batches are not sent again after a crash.
struct OutboxContents {
    /// The size of acknowledged payloads in bytes at which their rows are deleted.
    static let deletionSize: Int64 = 64 << 10
    /// The time in µs after which the rows of acknowledged batches are deleted, whatever their size.
    static let deletionDelay: Int64 = 60_000_000

    /// The batches that are not acknowledged and not dropped.
    private(set) var pending: SequenceSet
    /// The acknowledged batches whose rows were not deleted yet.
    private(set) var acknowledged = SequenceSet()
    /// The batches whose rows are kept as the journal, although they are acknowledged or dropped.
    private(set) var journaled: SequenceSet
    private var acknowledgedBytes: Int64 = 0
    /// The time of the first acknowledgement since the last deletion, in µs of the boot clock.
    private var since: Int64?

    /// - Parameters:
    ///   - pending: the batches that are not acknowledged and not dropped.
    ///   - acknowledged: the acknowledged batches whose rows were not deleted in the last run.
    ///   - journaled: the batches whose rows are kept as the journal.
    init(pending: SequenceSet, acknowledged: SequenceSet = SequenceSet(), journaled: SequenceSet = SequenceSet()) {
        self.pending = pending
        self.acknowledged = acknowledged
        self.journaled = journaled
        if !acknowledged.isEmpty { acknowledgedBytes = Self.deletionSize }
    }

    /// Returns the watermark: every batch up to this id is acknowledged or dropped.
    /// - Parameter last: the highest id given so far.
    func watermark(last: Int64) -> Int64 { pending.first.map { $0 - 1 } ?? last }

    /// Returns whether the rows of acknowledged batches should be deleted.
    /// - Parameter boot: the current time in µs of the boot clock.
    func isDeletionDue(at boot: Int64) -> Bool {
        guard !acknowledged.isEmpty, let since else { return !acknowledged.isEmpty }
        return acknowledgedBytes >= Self.deletionSize || boot - since >= Self.deletionDelay
    }

    /// Adds new batches.
    mutating func append(_ ids: ClosedRange<Int64>) { pending.insert(ids) }

    /// Marks pending batches as acknowledged.
    /// - Parameters:
    ///   - bytes: the size of their payloads in bytes.
    ///   - boot: the current time in µs of the boot clock.
    mutating func acknowledge(_ ids: SequenceSet, bytes: Int64, at boot: Int64) {
        guard !ids.isEmpty else { return }
        pending.subtract(ids)
        acknowledged.formUnion(ids)
        acknowledgedBytes += bytes
        since = since ?? boot
    }

    /// Removes a dropped batch.
    /// - Parameter keepsRow: whether its row is kept as part of the journal.
    mutating func drop(_ id: Int64, keepsRow: Bool) {
        pending.remove(id)
        if keepsRow { journaled.insert(id) }
    }

    /// Records that the rows of acknowledged batches were deleted, or kept as the journal.
    mutating func didDelete(keepingJournal: Bool, last: Int64) {
        if keepingJournal {
            journaled.formUnion(acknowledged)
            // One range for all batches up to the watermark, even if rows between them were deleted.
            let watermark = watermark(last: last)
            if watermark >= 1 { journaled.insert(1...watermark) }
        }
        acknowledged = SequenceSet()
        acknowledgedBytes = 0
        since = nil
    }

    /// Replaces pending batches by batches with new ids.
    mutating func move(_ ids: SequenceSet, to newIDs: SequenceSet) {
        pending.subtract(ids)
        pending.formUnion(newIDs)
    }
}
