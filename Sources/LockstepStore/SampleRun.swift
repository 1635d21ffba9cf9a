public import LockstepModel

/// Consecutive batches of one stream of one device.
///
/// The samples of all batches are in one block and are inserted together, which makes inserting small batches fast.
public struct SampleRun: Sendable {
    /// A batch of the run, without its samples.
    public struct Batch: Sendable, Equatable {
        /// The position of the batch, or nil if it is not numbered.
        public var position: BatchPosition?
        /// Whether the batch is live.
        public var isLive: Bool
        /// The time of receipt, on the collector's clock.
        public var receivedAt: Timestamp
        /// The end index (exclusive) of the batch's samples in the run.
        public var end: Int

        /// The position, or nil if the batch is not numbered or its number is outside the valid range.
        package var validPosition: BatchPosition? {
            position.flatMap { RangeLedger.validNumbers.contains($0.seq) ? $0 : nil }
        }

        /// Creates a batch of a run.
        public init(position: BatchPosition?, isLive: Bool, receivedAt: Timestamp, end: Int) {
            self.position = position
            self.isLive = isLive
            self.receivedAt = receivedAt
            self.end = end
        }
    }

    /// The sender of the batches.
    public internal(set) var device: DeviceAddress
    /// A number of the device that its writer uses for no other device, or nil. A store finds the device by it without
    /// computing a hash.
    package var deviceNumber: Int?
    /// A number of the stream that its writer uses for no other stream, or nil.
    package var streamNumber: Int?
    /// The samples of all batches. Times increase within a batch, but not necessarily from one batch to the next.
    public private(set) var samples: SampleBlock
    /// The batches in order of receipt.
    public private(set) var batches: [Batch] = []

    /// Creates an empty run.
    public init(device: DeviceAddress, stream: SensorStream) {
        self.device = device
        samples = SampleBlock(stream: stream)
    }

    /// Creates an empty run and reserves memory for the expected numbers of batches and samples.
    package init(
        device: DeviceAddress, stream: SensorStream, expectedBatches batchCount: Int, samples sampleCount: Int
    ) {
        self.init(device: device, stream: stream)
        batches.reserveCapacity(batchCount)
        samples.reserveCapacity(sampleCount)
    }

    /// Appends a batch.
    /// - Precondition: the batch belongs to the run's stream.
    public mutating func append(_ batch: LockstepModel.Batch, at receivedAt: Timestamp) {
        samples.append(contentsOf: batch.samples)
        batches.append(
            Batch(position: batch.position, isLive: batch.isLive, receivedAt: receivedAt, end: samples.count))
    }

    /// Appends the batches of another run of the same device and stream.
    mutating func append(_ other: SampleRun) {
        let start = samples.count
        samples.append(contentsOf: other.samples)
        for batch in other.batches {
            batches.append(
                Batch(
                    position: batch.position, isLive: batch.isLive, receivedAt: batch.receivedAt, end: start + batch.end
                ))
        }
    }

    /// Appends a batch that `read` decodes directly into the samples of the run, without a copy.
    /// - Parameter read: decodes the batch and appends its samples. It receives the samples of the run and the epoch of
    ///   the previous batch. If there is no valid batch, it returns nil and leaves the samples unchanged.
    /// - Returns: whether a batch was appended.
    @inline(__always)
    package mutating func append(
        at receivedAt: Timestamp,
        _ read: (inout SampleBlock, Epoch?) -> (position: BatchPosition?, isLive: Bool)?
    ) -> Bool {
        guard let (position, isLive) = read(&samples, batches.last?.position?.epoch) else { return false }
        batches.append(Batch(position: position, isLive: isLive, receivedAt: receivedAt, end: samples.count))
        return true
    }

    /// Removes all batches, but keeps the memory for the samples of another device.
    package mutating func reset(to device: DeviceAddress) {
        self.device = device
        deviceNumber = nil
        batches.removeAll(keepingCapacity: true)
        samples.truncate(to: 0)
    }

    /// Removes the last batch and its samples.
    package mutating func removeLast() {
        batches.removeLast()
        samples.truncate(to: batches.last?.end ?? 0)
    }

    /// Returns the batch that contains sample `index`.
    /// - Precondition: `index` is less than the number of samples.
    public func batch(of index: Int) -> Batch {
        // Binary search for the first batch that ends after `index`.
        var low = 0
        var high = batches.count - 1
        while low < high {
            let middle = (low + high) / 2
            if batches[middle].end > index { high = middle } else { low = middle + 1 }
        }
        return batches[low]
    }

    /// The batches with their samples, in order of receipt.
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
