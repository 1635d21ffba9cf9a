public import LockstepModel

/// What a collector takes from the broker and writes, before it acknowledges any of it.
public struct IngestGroup: Sendable {
    /// The samples, those of one device and stream in the order in which they came.
    public var runs: [SampleRun]
    public var rejected: [RejectedMessage]
    public var transitions: [DeviceTransition]
    /// The new snapshot of each device whose life cycle was touched.
    public var lifecycles: [DeviceAddress: LifecycleSnapshot]
    public var dropped: [DroppedBatches]
    /// Whether a snapshot tells more than newer evidence for the same.
    public var hasLifecycleChanges = false
    /// When each device was last heard of by something else than a batch, on the collector's clock.
    public var seen: [DeviceAddress: Timestamp]

    public init(
        batches: [ReceivedBatch] = [], rejected: [RejectedMessage] = [], transitions: [DeviceTransition] = [],
        lifecycles: [DeviceAddress: LifecycleSnapshot] = [:], dropped: [DroppedBatches] = [],
        seen: [DeviceAddress: Timestamp] = [:]
    ) {
        runs = []
        self.rejected = rejected
        self.transitions = transitions
        self.lifecycles = lifecycles
        self.dropped = dropped
        self.seen = seen
        for batch in batches { append(batch) }
    }

    public var isEmpty: Bool {
        runs.isEmpty && rejected.isEmpty && transitions.isEmpty && lifecycles.isEmpty && dropped.isEmpty
            && seen.isEmpty
    }

    /// Whether it says no more than that devices are still there: nothing that anyone waits for, and that the next
    /// heartbeat says again.
    public var canWait: Bool {
        runs.isEmpty && rejected.isEmpty && transitions.isEmpty && dropped.isEmpty && !hasLifecycleChanges
    }

    /// Adds a batch, to the last run where that is of its device and stream.
    public mutating func append(_ received: ReceivedBatch) {
        let stream = received.batch.samples.stream
        if let last = runs.last, last.device == received.device, last.samples.stream == stream {
            runs[runs.count - 1].append(received.batch, at: received.receivedAt)
        } else {
            var run = SampleRun(device: received.device, stream: stream)
            run.append(received.batch, at: received.receivedAt)
            runs.append(run)
        }
    }

    /// The batches one by one, run by run.
    package var batches: [ReceivedBatch] { runs.flatMap(\.received) }
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
