/// What a device reports about its outbox: the batches that it still has.
///
/// A batch that is not stored is *on its way* as long as its device has it. When the device no longer has it, it is
/// *missing*: some collector has acknowledged it, and this store does not have it.
public struct OutboxReport: Hashable, Sendable {
    /// The epoch of the report.
    public let epoch: Epoch
    /// The number of the newest batch of `epoch`. If it is nil, the report is about the batches of `epoch` below the highest
    /// one that is known, and about no other epoch.
    public let seq: Int64?
    /// The batches that the device still has, by epoch.
    public let pending: [Epoch: SequenceSet]

    /// Creates a report.
    public init(epoch: Epoch, seq: Int64?, pending: [Epoch: SequenceSet]) {
        self.epoch = epoch
        self.seq = seq
        self.pending = pending
    }

    /// Creates the report in a presence, or nil if it has none. A last will is older than what it ends; a gateway reports the
    /// batches of a lost device with a number.
    public init?(_ presence: Presence) {
        guard let epoch = presence.epoch, presence.phase != .lost || presence.seq != nil else { return nil }
        self.init(epoch: epoch, seq: presence.seq, pending: presence.pending)
    }

    /// Returns the batches of ``epoch`` that are neither known nor in the outbox.
    /// - Parameter known: the batches of the epoch that are stored or will never be.
    public func gone(known: SequenceSet) -> SequenceSet {
        let top = seq ?? known.last ?? 0
        guard top >= 1 else { return SequenceSet() }
        return SequenceSet([1...top]).subtracting(known).subtracting(pending[epoch] ?? SequenceSet())
    }
}
