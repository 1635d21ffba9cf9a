/// A collector's acknowledgement of the batches of one device and epoch that need not be sent again: they are committed, or
/// never will be, because the agent has dropped them or the collector has rejected them for good.
public struct Acknowledgement: Hashable, Sendable {
    /// The acknowledged epoch.
    public let epoch: Epoch
    /// The watermark: all batches from 1 to this number are acknowledged.
    public let through: Int64
    /// The gaps above `through` in ascending order: batches that the agent must send again. If there are too many gaps,
    /// the first range combines several of them and then also covers batches that are acknowledged.
    public let missing: [ClosedRange<Int64>]
    /// All batches up to this number are acknowledged, except those in `missing`. At least `through`.
    public let highest: Int64
    /// The hold time in µs: from the end of the reading before the commit that preceded the one of the newest acknowledged
    /// batch, to the publishing of this message. Nil if the collector does not report it.
    ///
    /// A collector reads nothing while it commits, and coalesces acknowledgements. An agent subtracts the hold time when it
    /// measures the round trip of a batch, as with QUIC's ACK Delay (RFC 9000, section 13.2.5). What remains was spent in a
    /// queue: the batch waited longer than for one commit.
    public let holdTime: Int64?
    /// A batch of the epoch that the collector has refused for now, or nil if this message is not about a refusal. Such a
    /// message acknowledges nothing.
    public let refusal: Refusal?

    /// The refusal of a batch that the collector may accept later.
    public struct Refusal: Hashable, Sendable {
        /// The number of the batch. Others may be refused for the same reason.
        public let seq: Int64
        /// The reason, as one sentence.
        public let reason: String

        /// Creates a refusal.
        public init(seq: Int64, reason: String) {
            self.seq = seq
            self.reason = reason
        }
    }

    /// Creates an acknowledgement. `highest` is raised to `through` if it is lower or nil.
    public init(
        epoch: Epoch, through: Int64, missing: [ClosedRange<Int64>] = [], highest: Int64? = nil, holdTime: Int64? = nil,
        refusal: Refusal? = nil
    ) {
        self.epoch = epoch
        self.through = through
        self.missing = missing
        self.highest = max(through, highest ?? through)
        self.holdTime = holdTime
        self.refusal = refusal
    }

    /// Creates an acknowledgement of all `received` batches.
    ///
    /// If there are more than `limit` gaps, the lowest gaps are combined into one. Gaps that never close therefore
    /// cannot block the acknowledgement of newer batches.
    /// - Parameter limit: the maximum number of gaps. The default limits the JSON form to about 16 KB.
    public init(epoch: Epoch, received: SequenceSet, holdTime: Int64? = nil, limit: Int = 800) {
        // Usually there are no gaps. Computing them would allocate memory.
        let isComplete = received.isContiguous && received.first ?? .max <= 1
        var gaps = isComplete ? [] : received.gaps.ranges
        let excess = gaps.count - limit
        if excess > 0 {
            gaps.replaceSubrange(
                0...excess, with: CollectionOfOne(gaps[0].lowerBound...gaps[excess].upperBound))
        }
        self.init(
            epoch: epoch, through: received.watermark, missing: gaps, highest: received.last ?? 0, holdTime: holdTime)
    }

    /// The acknowledged batches.
    public var stored: SequenceSet {
        guard highest >= 1 else { return SequenceSet() }
        return SequenceSet([1...highest]).subtracting(SequenceSet(missing))
    }
}

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
