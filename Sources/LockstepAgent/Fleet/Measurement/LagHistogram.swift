/// A histogram of durations whose bucket width grows with the duration, so that it needs only a few kilobytes.
///
/// As in HdrHistogram (Tene), each power of two is divided into equal buckets, here 64: a quantile is at most 1/64
/// above the exact value. It is implemented here
/// because hdrhistogram-swift would add two packages for these few lines.
public struct LagHistogram: Sendable, Equatable {
    private static let subBucketBits = 6
    private var counts: [UInt64] = []
    /// The number of durations.
    public private(set) var count: UInt64 = 0
    /// The exact largest duration, in µs.
    public private(set) var max: Int64 = 0

    /// Creates an empty histogram.
    public init() {}

    /// Adds a duration in µs; negative durations count as 0.
    public mutating func record(_ duration: Int64) {
        let value = Swift.max(0, duration)
        let index = Self.index(of: value)
        if index >= counts.count { counts += repeatElement(0, count: index + 1 - counts.count) }
        counts[index] += 1
        count += 1
        max = Swift.max(max, value)
    }

    /// Returns the duration, in µs, that the fraction `quantile` (0…1) of all durations does not exceed, or nil if the
    /// histogram is empty.
    public func quantile(_ quantile: Double) -> Int64? {
        guard count > 0 else { return nil }
        let rank = Swift.max(1, UInt64((quantile * Double(count)).rounded(.up)))
        var cumulative: UInt64 = 0
        for (index, bucketCount) in counts.enumerated() {
            cumulative += bucketCount
            if cumulative >= rank { return Swift.min(Self.upperBound(of: index), max) }
        }
        return max
    }

    /// Returns the index of a value's bucket. Each value below 2⁷ has its own bucket. Larger values with the same
    /// number of bits and the same seven leading bits share a bucket.
    private static func index(of value: Int64) -> Int {
        let shift = Swift.max(0, 63 - value.leadingZeroBitCount - subBucketBits)
        return shift << subBucketBits + Int(value >> shift)
    }

    /// Returns the largest value in a bucket.
    private static func upperBound(of index: Int) -> Int64 {
        let shift = Swift.max(0, index >> subBucketBits - 1)
        let leading = Int64(index - shift << subBucketBits)
        return leading << shift + (1 << shift - 1)
    }
}
