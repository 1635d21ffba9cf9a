/// The arrivals of samples in the last seconds, from which rates are computed.
struct RecentArrivals: Sendable {
    /// The number of samples that arrived at one time, in µs of the boot clock.
    private struct Arrival {
        let at: Int64
        var count: Int
    }

    /// Arrivals within this time are counted as one, which bounds the number of entries. In µs.
    private static let resolution: Int64 = 50_000

    private var arrivals: [Arrival] = []

    /// The number of entries.
    var count: Int { arrivals.count }

    /// Adds an arrival of `count` samples, and removes those that are older than `window` µs.
    mutating func add(_ count: Int, at boot: Int64, window: Int64) {
        if let last = arrivals.last, boot - last.at < Self.resolution {
            arrivals[arrivals.count - 1].count += count
            return
        }
        let expired = arrivals.firstIndex { boot - $0.at < window } ?? arrivals.count
        if expired > 0 { arrivals.removeFirst(expired) }
        arrivals.append(Arrival(at: boot, count: count))
    }

    /// Removes all arrivals.
    mutating func reset() { arrivals = [] }

    /// Returns the number of samples of the last `window` µs divided by its whole seconds, in samples per second.
    ///
    /// Batches arrive once per second, so the time since the first arrival is rounded up to whole seconds: the rate is
    /// then correct from the first batch.
    /// - Parameter start: the first arrival of the device, in µs of the boot clock; nil if there is none.
    func average(since start: Int64?, at boot: Int64, window: Int64) -> Double {
        let count = arrivals.reduce(0) { boot - $1.at < window ? $0 + $1.count : $0 }
        let seconds = (boot - (start ?? boot)) / 1_000_000 + 1
        return Double(count) / Double(min(seconds, window / 1_000_000))
    }

    /// Returns the rate between the first and the last arrival in the last `window` µs, in samples per second.
    ///
    /// Unlike ``average(since:at:window:)``, it does not depend on how many batches the window happens to contain. It
    /// falls back to the average while there are fewer than three arrivals, and once the samples have stopped.
    func steady(since start: Int64?, at boot: Int64, window: Int64) -> Double {
        let recent = arrivals.drop { boot - $0.at >= window }
        guard let first = recent.first, let last = recent.last, recent.count >= 3 else {
            return average(since: start, at: boot, window: window)
        }
        let span = last.at - first.at
        let interval = span / Int64(recent.count - 1)
        guard boot - last.at <= 2 * interval + 1_000_000 else { return average(since: start, at: boot, window: window) }
        return Double(recent.dropFirst().reduce(0) { $0 + $1.count }) / (Double(span) / 1e6)
    }
}
