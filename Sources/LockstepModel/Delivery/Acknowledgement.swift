/// What a collector says, after its commit, that it has of one (device, epoch).
public struct Acknowledgement: Hashable, Sendable {
    public let epoch: Epoch
    /// The watermark: every batch from 1 to this one is on disk.
    public let through: Int64
    /// Gaps above `through`, ascending: batches to send again. Where there are very many, the first range also has
    /// batches that are on disk.
    public let missing: [ClosedRange<Int64>]
    /// Every batch up to this one that is not in `missing` is on disk; at least `through`.
    public let highest: Int64
    /// µs from the commit of the newest of these batches to this word: acknowledgements are coalesced, and whoever wants
    /// to know how long a batch took takes it off, as with QUIC's ACK Delay (RFC 9000, 13.2.5). Nil where it is not told.
    public let held: Int64?

    public init(
        epoch: Epoch, through: Int64, missing: [ClosedRange<Int64>] = [], highest: Int64? = nil, held: Int64? = nil
    ) {
        self.epoch = epoch
        self.through = through
        self.missing = missing
        self.highest = max(through, highest ?? through)
        self.held = held
    }

    /// The acknowledgement of what was received, with at most `limit` gaps, some 16 KB of JSON.
    ///
    /// Where there are more, the lowest count as one: a gap that never closes must not keep what comes later from
    /// being acknowledged.
    public init(epoch: Epoch, received: SequenceSet, held: Int64? = nil, limit: Int = 800) {
        var gaps = received.gaps.ranges
        let excess = gaps.count - limit
        if excess > 0 {
            gaps.replaceSubrange(
                0...excess, with: CollectionOfOne(gaps[0].lowerBound...gaps[excess].upperBound))
        }
        self.init(
            epoch: epoch, through: received.watermark, missing: gaps, highest: received.last ?? 0, held: held)
    }

    /// The batches that are on disk.
    public var stored: SequenceSet {
        guard highest >= 1 else { return SequenceSet() }
        return SequenceSet([1...highest]).subtracting(SequenceSet(missing))
    }
}
