/// The memory of a process over time, with a limited number of readings.
///
/// When the limit is reached, every second reading is removed, and the interval between later readings is doubled.
public struct MemorySeries: Sendable, Equatable {
    /// The memory at one time.
    public struct Reading: Sendable, Equatable {
        /// The time, in µs since the start.
        public var at: Int64
        /// The size, in bytes.
        public var bytes: Int
    }

    /// The maximum number of readings; even, so that removing every second reading also removes the newest.
    static let limit = 240

    /// The readings, at equal intervals.
    public private(set) var readings: [Reading] = []
    /// The largest of all readings, in bytes.
    public private(set) var max = 0
    /// One of this many added readings is kept.
    private var stride = 1
    /// The number of readings added since the last kept one.
    private var skipped = 0
    private var newest: Reading?

    /// Creates an empty series.
    public init() {}

    /// The first reading, in bytes.
    public var first: Int? { readings.first?.bytes }
    /// The newest reading, in bytes.
    public var last: Int? { newest?.bytes }

    /// Adds a reading; `time` is in µs since the start.
    public mutating func add(_ bytes: Int, at time: Int64) {
        let reading = Reading(at: time, bytes: bytes)
        newest = reading
        max = Swift.max(max, bytes)
        skipped += 1
        guard skipped >= stride || readings.isEmpty else { return }
        skipped = 0
        readings.append(reading)
        guard readings.count >= Self.limit else { return }
        readings = readings.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
        // The newest reading was removed, so the next one must be kept.
        skipped = stride
        stride *= 2
    }

    /// The growth in the second half of the time, in bytes per minute, by linear least squares; nil with fewer than
    /// three readings.
    ///
    /// The first half is ignored because caches fill during that time.
    public var growth: Double? {
        guard let start = readings.first?.at, let end = readings.last?.at else { return nil }
        let later = readings.filter { $0.at >= start + (end - start) / 2 }
        guard later.count >= 3 else { return nil }
        let times = later.map { Double($0.at - start) / 60_000_000 }
        let sizes = later.map { Double($0.bytes) }
        let time = times.reduce(0, +) / Double(later.count)
        let size = sizes.reduce(0, +) / Double(later.count)
        let spread = times.reduce(0) { $0 + ($1 - time) * ($1 - time) }
        guard spread > 0 else { return nil }
        return zip(times, sizes).reduce(0) { $0 + ($1.0 - time) * ($1.1 - size) } / spread
    }
}

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
