public import LockstepModel

extension SensorStream {
    /// Whether the samples are positions. Their least and greatest values mean nothing, so use
    /// ``StoreReader/everyNth(_:cancellation:)`` instead of an envelope.
    public var hasPositions: Bool { columns.contains { $0.aggregate == .meanLongitude } }
}

/// Every n-th sample of a stream in a time range.
public struct ThinnedSamples: Sendable {
    /// n: 1 if the samples are all of the range.
    public let step: Int64
    /// The samples, in order of time. NaN stands for null.
    public let samples: [(time: Timestamp, values: [Double])]

    package init(step: Int64, samples: [(time: Timestamp, values: [Double])]) {
        self.step = step
        self.samples = samples
    }
}
