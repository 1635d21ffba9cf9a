/// The sums of steps and distance since the start of the program. Each interval counts once, however often it arrives.
struct StepTotals {
    /// The maximum number of intervals whose repetition is recognised.
    private static let maxIntervals = 8192

    private(set) var steps: Int64 = 0
    /// The sum of the distances in m, or nil if no interval has one.
    private(set) var distance: Double?
    /// The end of the newest interval with steps, in µs since 1970.
    private(set) var lastStep: Int64?
    private var ends: Set<Int64> = []
    /// Intervals that end at this time or earlier are ignored.
    private var floor = Int64.min

    /// Whether there was any interval.
    var isKnown: Bool { !ends.isEmpty }

    /// Adds an interval, which its end identifies.
    mutating func add(_ count: Double, distance: Double?, until end: Int64) {
        guard end > floor, count >= 0, let count = Int64(exactly: count), ends.insert(end).inserted else { return }
        // Any client may send a count that would overflow the sum.
        steps = min(1 << 53, steps + min(count, 1 << 53))
        if let distance, distance >= 0 { self.distance = min(1e15, (self.distance ?? 0) + distance) }
        if count > 0 { lastStep = max(lastStep ?? end, end) }
        guard ends.count > Self.maxIntervals else { return }
        let sorted = ends.sorted()
        floor = sorted[sorted.count / 2]
        ends = ends.filter { $0 > floor }
    }
}
