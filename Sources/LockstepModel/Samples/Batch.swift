/// The content of one message: samples of one stream, and the position of the batch in the agent's sequence.
public struct Batch: Sendable, Equatable {
    /// The batch's position, or nil if the sender does not number its batches. The collector stores the samples of an
    /// unnumbered batch but cannot detect gaps.
    public var position: BatchPosition?
    /// Whether the batch is sent for the first time and without delay. A batch that is not live never changes a
    /// life-cycle state.
    public var isLive: Bool
    /// The samples.
    public var samples: SampleBlock

    /// Creates a batch.
    public init(position: BatchPosition?, isLive: Bool = true, samples: SampleBlock) {
        self.position = position
        self.isLive = isLive
        self.samples = samples
    }
}

/// The position of a batch in the sequence of its device and epoch.
public struct BatchPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The epoch to which `seq` belongs.
    public let epoch: Epoch
    /// The batch number: starts at 1 and increases by 1 without gaps.
    public let seq: Int64

    /// Creates a position.
    public init(epoch: Epoch, seq: Int64) {
        self.epoch = epoch
        self.seq = seq
    }

    /// The position as text: `EPOCH#SEQ`.
    public var description: String { "\(epoch)#\(seq)" }

    /// Returns whether `left` precedes `right` in the order of epoch id, then number.
    public static func < (left: BatchPosition, right: BatchPosition) -> Bool {
        (left.epoch, left.seq) < (right.epoch, right.seq)
    }
}
