/// How large a payload may be.
public struct PayloadLimits: Sendable, Hashable {
    /// Bytes of one payload.
    public var bytes: Int
    /// Samples of one batch.
    public var samples: Int

    public init(bytes: Int = 1 << 20, samples: Int = 10_000) {
        self.bytes = bytes
        self.samples = samples
    }
}
