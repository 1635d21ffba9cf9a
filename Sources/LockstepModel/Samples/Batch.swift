/// What one message carries: samples of one stream, and their place in the agent's sequence.
public struct Batch: Sendable, Equatable {
    /// The batch's number. A device that is not ours may send none; its samples are then kept without gap detection.
    public var position: BatchPosition?
    /// False for what an agent sends again or later: such a batch never changes a life-cycle state.
    public var isLive: Bool
    public var samples: SampleBlock

    public init(position: BatchPosition?, isLive: Bool = true, samples: SampleBlock) {
        self.position = position
        self.isLive = isLive
        self.samples = samples
    }
}

/// The number of a batch within (device, epoch): from 1, without gaps.
public struct BatchPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let epoch: Epoch
    public let seq: Int64

    public init(epoch: Epoch, seq: Int64) {
        self.epoch = epoch
        self.seq = seq
    }

    public var description: String { "\(epoch)#\(seq)" }

    public static func < (left: BatchPosition, right: BatchPosition) -> Bool {
        (left.epoch, left.seq) < (right.epoch, right.seq)
    }
}
