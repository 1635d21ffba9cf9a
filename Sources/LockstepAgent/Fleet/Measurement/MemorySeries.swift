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
