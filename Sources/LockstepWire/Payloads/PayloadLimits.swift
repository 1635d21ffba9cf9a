/// The size limits of payloads.
public struct PayloadLimits: Sendable, Hashable {
    /// The maximum size of a payload, in bytes.
    public var bytes: Int
    /// The maximum number of samples in a batch.
    public var samples: Int

    public init(bytes: Int = 1 << 20, samples: Int = 10_000) {
        self.bytes = bytes
        self.samples = samples
    }
}
