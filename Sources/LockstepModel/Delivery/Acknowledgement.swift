/// What a collector says, after its commit, that it has of one (device, epoch).
public struct Acknowledgement: Hashable, Sendable {
    public let epoch: Epoch
    /// The watermark: every batch from 1 to this one is on disk.
    public let through: Int64
    /// Gaps above `through`, ascending: batches to send again.
    public let missing: [ClosedRange<Int64>]
    /// Every batch up to this one that is not in `missing` is on disk; at least `through`.
    public let highest: Int64

    public init(epoch: Epoch, through: Int64, missing: [ClosedRange<Int64>] = [], highest: Int64? = nil) {
        self.epoch = epoch
        self.through = through
        self.missing = missing
        self.highest = max(through, highest ?? through)
    }

    /// The acknowledgement of what was received, with at most `limit` gaps: the lowest ones, so that it stays true
    /// of everything up to ``highest``.
    public init(epoch: Epoch, received: SequenceSet, limit: Int = 100) {
        let gaps = received.gaps.ranges
        let highest = gaps.count > limit ? gaps[limit].lowerBound - 1 : received.last ?? 0
        self.init(epoch: epoch, through: received.watermark, missing: Array(gaps.prefix(limit)), highest: highest)
    }

    /// The batches that are on disk.
    public var stored: SequenceSet {
        guard highest >= 1 else { return SequenceSet() }
        return SequenceSet([1...highest]).subtracting(SequenceSet(missing))
    }
}
