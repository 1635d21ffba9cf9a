import LockstepModel

/// The order in which recent batches of all streams arrived, to remove the oldest ones.
///
/// The batches are in ``LiveStream/recent``. Both are queues, so the oldest entry here is the oldest batch of its stream.
struct RecentSamples: Sendable {
    private struct Entry {
        let key: StreamKey
        let bytes: Int
        /// The arrival time, in µs of the boot clock.
        let at: Int64
    }

    private let maxBytes: Int
    private let maxAge: Int64
    private var entries = RingQueue<Entry>()
    /// The memory of all batches, in bytes.
    private(set) var bytes = 0

    init(maxBytes: Int, maxAge: Int64) {
        self.maxBytes = maxBytes
        self.maxAge = maxAge
    }

    /// Adds the newest batch.
    mutating func add(_ samples: SampleBlock, of key: StreamKey, at boot: Int64) {
        let size = Self.memory(of: samples)
        entries.append(Entry(key: key, bytes: size, at: boot))
        bytes += size
    }

    /// Removes and returns the stream of the oldest batch, if it is too old or there are too many bytes.
    mutating func removeExcess(at boot: Int64) -> StreamKey? {
        guard let oldest = entries.first, bytes > maxBytes || boot - oldest.at > maxAge else { return nil }
        _ = entries.removeFirst()
        bytes -= oldest.bytes
        return oldest.key
    }

    /// Returns the approximate memory of a batch with its entries in both queues, in bytes.
    static func memory(of samples: SampleBlock) -> Int {
        // Arrays have a header of 32 bytes; a block contains the description of its stream.
        320 + samples.columns.count * 32 + samples.count * 8 * (samples.columns.count + 1)
    }
}
