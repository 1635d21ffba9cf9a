/// How much memory something took over time: any number of readings in a bounded space.
///
/// Once it is full, every second reading goes, and from then on only every second is kept.
public struct MemorySeries: Sendable, Equatable {
    public struct Reading: Sendable, Equatable {
        /// µs since the begin.
        public var at: Int64
        public var bytes: Int
    }

    /// Readings kept at the most; even, so that the newest goes with the others.
    static let limit = 240

    public private(set) var readings: [Reading] = []
    /// The largest of all readings.
    public private(set) var max = 0
    private var stride = 1
    private var skipped = 0
    private var newest: Reading?

    public init() {}

    public var first: Int? { readings.first?.bytes }
    public var last: Int? { newest?.bytes }

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
        // The newest one went, and counts for the next.
        skipped = stride
        stride *= 2
    }

    /// Bytes a minute by which memory grew in the later half of the time: the line with the least squares; nil where
    /// there are fewer than three readings.
    ///
    /// The earlier half is left out because caches fill there.
    public var growth: Double? {
        guard let begin = readings.first?.at, let end = readings.last?.at else { return nil }
        let later = readings.filter { $0.at >= begin + (end - begin) / 2 }
        guard later.count >= 3 else { return nil }
        let times = later.map { Double($0.at - begin) / 60_000_000 }
        let sizes = later.map { Double($0.bytes) }
        let time = times.reduce(0, +) / Double(later.count)
        let size = sizes.reduce(0, +) / Double(later.count)
        let spread = times.reduce(0) { $0 + ($1 - time) * ($1 - time) }
        guard spread > 0 else { return nil }
        return zip(times, sizes).reduce(0) { $0 + ($1.0 - time) * ($1.1 - size) } / spread
    }
}
