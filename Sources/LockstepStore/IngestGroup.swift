public import LockstepModel

/// What a collector writes in one transaction, of what it has taken from the broker and not yet acknowledged.
public struct IngestGroup: Sendable {
    public var batches: [ReceivedBatch]
    public var rejected: [RejectedMessage]
    public var transitions: [DeviceTransition]
    /// The new snapshot of each device whose life cycle was touched.
    public var lifecycles: [DeviceAddress: LifecycleSnapshot]
    public var dropped: [DroppedBatches]
    /// When each device was last heard of by something else than a batch, on the collector's clock.
    public var seen: [DeviceAddress: Timestamp]

    public init(
        batches: [ReceivedBatch] = [], rejected: [RejectedMessage] = [], transitions: [DeviceTransition] = [],
        lifecycles: [DeviceAddress: LifecycleSnapshot] = [:], dropped: [DroppedBatches] = [],
        seen: [DeviceAddress: Timestamp] = [:]
    ) {
        self.batches = batches
        self.rejected = rejected
        self.transitions = transitions
        self.lifecycles = lifecycles
        self.dropped = dropped
        self.seen = seen
    }

    public var isEmpty: Bool {
        batches.isEmpty && rejected.isEmpty && transitions.isEmpty && lifecycles.isEmpty && dropped.isEmpty
            && seen.isEmpty
    }
}

/// A batch, whose it is, and when it came.
public struct ReceivedBatch: Sendable, Equatable {
    public var device: DeviceAddress
    public var batch: Batch
    /// On the collector's clock.
    public var receivedAt: Timestamp

    public init(device: DeviceAddress, batch: Batch, receivedAt: Timestamp) {
        self.device = device
        self.batch = batch
        self.receivedAt = receivedAt
    }
}

/// A message that could not be taken in, kept for a person to look at.
public struct RejectedMessage: Sendable, Equatable {
    /// On the collector's clock.
    public var at: Timestamp
    public var topic: String
    public var reason: String
    /// Size of the whole payload, in bytes.
    public var size: Int
    /// The payload's first bytes; a store keeps at most 256.
    public var head: [UInt8]

    public init(at: Timestamp, topic: String, reason: String, size: Int, head: [UInt8]) {
        self.at = at
        self.topic = topic
        self.reason = reason
        self.size = size
        self.head = head
    }
}

/// A change of a device's life-cycle state.
public struct DeviceTransition: Sendable, Hashable {
    public var device: DeviceAddress
    public var transition: LifecycleTransition

    public init(device: DeviceAddress, transition: LifecycleTransition) {
        self.device = device
        self.transition = transition
    }
}

/// Batches that the agent says will never come.
///
/// With no numbers it writes nothing, and the result tells what is known of (device, epoch) all the same.
public struct DroppedBatches: Sendable, Hashable {
    public var device: DeviceAddress
    public var epoch: Epoch
    public var ranges: SequenceSet

    public init(device: DeviceAddress, epoch: Epoch, ranges: SequenceSet) {
        self.device = device
        self.epoch = epoch
        self.ranges = ranges
    }
}
