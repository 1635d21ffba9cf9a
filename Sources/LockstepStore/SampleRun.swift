public import LockstepModel

/// Samples of one stream of one device, as batches brought them one after the other.
///
/// Small batches cost little in it: their samples lie side by side, and are inserted together.
public struct SampleRun: Sendable {
    /// A batch of the run, without its samples.
    public struct Batch: Sendable, Equatable {
        public var position: BatchPosition?
        public var isLive: Bool
        /// When it came, on the collector's clock.
        public var receivedAt: Timestamp
        /// The samples of the run up to its last.
        public var end: Int

        public init(position: BatchPosition?, isLive: Bool, receivedAt: Timestamp, end: Int) {
            self.position = position
            self.isLive = isLive
            self.receivedAt = receivedAt
            self.end = end
        }
    }

    public let device: DeviceAddress
    /// Of all batches. Times increase within a batch, not always from one to the next.
    public private(set) var samples: SampleBlock
    public private(set) var batches: [Batch] = []

    /// An empty run.
    public init(device: DeviceAddress, stream: SensorStream) {
        self.device = device
        samples = SampleBlock(stream: stream)
    }

    /// An empty run with room for so many batches, and so many samples in all.
    package init(device: DeviceAddress, stream: SensorStream, expectedBatches batchCount: Int, samples sampleCount: Int)
    {
        self.init(device: device, stream: stream)
        batches.reserveCapacity(batchCount)
        samples.reserveCapacity(sampleCount)
    }

    /// Adds a batch.
    /// - Precondition: it is of the run's stream.
    public mutating func append(_ batch: LockstepModel.Batch, at receivedAt: Timestamp) {
        samples.append(contentsOf: batch.samples)
        batches.append(
            Batch(position: batch.position, isLive: batch.isLive, receivedAt: receivedAt, end: samples.count))
    }

    /// Adds a batch whose samples `read` adds to those of the run, given the epoch of the batch before.
    /// - Parameter read: gives nil where there is no batch; then it has to leave the samples as they were.
    /// - Returns: whether there was one.
    @inline(__always)
    package mutating func append(
        at receivedAt: Timestamp,
        _ read: (inout SampleBlock, Epoch?) -> (position: BatchPosition?, isLive: Bool)?
    ) -> Bool {
        guard let (position, isLive) = read(&samples, batches.last?.position?.epoch) else { return false }
        batches.append(Batch(position: position, isLive: isLive, receivedAt: receivedAt, end: samples.count))
        return true
    }

    /// Takes the last batch out again.
    package mutating func removeLast() {
        batches.removeLast()
        samples.truncate(to: batches.last?.end ?? 0)
    }

    /// The batch that brought sample `index`.
    public func batch(of index: Int) -> Batch {
        // Of few batches the first that reaches so far.
        var low = 0
        var high = batches.count - 1
        while low < high {
            let middle = (low + high) / 2
            if batches[middle].end > index { high = middle } else { low = middle + 1 }
        }
        return batches[low]
    }

    /// The batches as they came.
    var received: [ReceivedBatch] {
        var begin = 0
        return batches.map { batch in
            defer { begin = batch.end }
            return ReceivedBatch(
                device: device,
                batch: LockstepModel.Batch(
                    position: batch.position, isLive: batch.isLive, samples: samples[begin..<batch.end]),
                receivedAt: batch.receivedAt)
        }
    }
}
