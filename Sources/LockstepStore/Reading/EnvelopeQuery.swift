public import LockstepModel

/// A query of the least and greatest values of a stream in time spans of equal length (buckets), for plotting.
public struct EnvelopeQuery: Hashable, Sendable {
    /// The device.
    public var device: DeviceAddress
    /// The stream.
    public var stream: SensorStream
    /// The start of the time range (inclusive), which is also the start of the first bucket.
    public var from: Timestamp
    /// The end of the time range (exclusive).
    public var to: Timestamp
    /// The maximum number of buckets, at least 1. Memory use grows with it, but not with the number of samples.
    public var points: Int

    /// Creates a query.
    public init(device: DeviceAddress, stream: SensorStream, from: Timestamp, to: Timestamp, points: Int) {
        self.device = device
        self.stream = stream
        self.from = from
        self.to = to
        self.points = points
    }

    /// The columns of an envelope: those of the stream with numbers.
    public var columns: [SensorStream.Column] { stream.columns.filter { $0.kind.words == nil } }

    /// The length of each bucket in µs: the shortest with which `points` buckets cover the range. Buckets of a minute or more
    /// consist of whole minutes, of which the store may have summaries.
    public var width: Int64 { spans.width }

    /// The buckets. The first one may begin before the range, and the last one may extend beyond it.
    package var spans: SummarySpans {
        func width(from start: Int64) -> Int64 {
            let (length, points) = (UInt64(times.upperBound - start), UInt64(max(1, points)))
            return Int64(max(1, length / points + (length % points == 0 ? 0 : 1)))
        }
        let start = times.lowerBound
        guard width(from: start) >= Minute.length else { return SummarySpans(origin: start, width: width(from: start)) }
        let minute = Minute.start(of: start)
        let minutes = (width(from: minute) + Minute.length - 1) / Minute.length
        return SummarySpans(origin: minute, width: minutes * Minute.length)
    }

    /// Returns a bucket from its span.
    package func bucket(_ start: Int64, samples: Int64, _ values: [Double]) -> Envelope.Bucket {
        Envelope.Bucket(
            start: Timestamp(microseconds: max(start, times.lowerBound)), samples: samples, values: values)
    }

    /// Returns the least n with which every n-th of a number of samples are at most ``points``.
    package func step(through samples: Int64) -> Int64 {
        let points = Int64(max(1, points))
        return max(1, (samples + points - 1) / points)
    }

    /// The range in µs since 1970. It is limited to 73,000 years before and after, so that its length is an `Int64`.
    package var times: Range<Int64> {
        let limits: ClosedRange<Int64> = -(1 << 61)...(1 << 61)
        func limited(_ time: Timestamp) -> Int64 {
            min(max(time.microseconds, limits.lowerBound), limits.upperBound)
        }
        return limited(from)..<max(limited(from), limited(to))
    }
}

/// The least and greatest values of a stream in buckets of equal length. Buckets without samples are absent.
public struct Envelope: Sendable {
    /// The samples of one bucket.
    public struct Bucket: Sendable {
        /// The start of the bucket, or that of the range if it is within the bucket.
        public let start: Timestamp
        /// The number of samples.
        public let samples: Int64
        /// The least and the greatest value of each column: `min, max, min, max, …`. NaN stands for null: the column has
        /// no known value in this bucket.
        public let values: [Double]
    }

    /// The columns.
    public let columns: [SensorStream.Column]
    /// The length of each bucket, in µs.
    public let width: Int64
    /// The buckets with samples, in order of time.
    public let buckets: [Bucket]
}
