/// The size limits of payloads.
public struct PayloadLimits: Sendable, Hashable {
    /// The maximum size of a payload, in bytes.
    public var bytes: Int
    /// The maximum number of samples in a batch.
    public var samples: Int

    /// Creates limits. The defaults are 1 MiB and 10,000 samples.
    public init(bytes: Int = 1 << 20, samples: Int = 10_000) {
        self.bytes = bytes
        self.samples = samples
    }
}
