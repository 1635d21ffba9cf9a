/// The arrivals of samples in the last seconds, from which rates are computed.
struct RecentArrivals: Sendable {
    /// The samples that arrived at one time, in µs of the boot clock.
    private struct Arrival {
        let at: Int64
        var count: Int
        /// The times of the oldest and the newest sample, in µs.
        var times: ClosedRange<Int64>
    }

    /// Arrivals within this time are counted as one, which bounds the number of entries. In µs.
    private static let resolution: Int64 = 50_000

    private var arrivals: [Arrival] = []

    /// The number of entries.
    var count: Int { arrivals.count }

    /// Adds an arrival of samples, and removes those that are older than `window` µs.
    /// - Parameter sampleTimes: the times of the samples in µs, ascending.
    mutating func add(_ sampleTimes: [Int64], at boot: Int64, window: Int64) {
        guard let first = sampleTimes.first, let newest = sampleTimes.last, first <= newest else { return }
        let count = sampleTimes.count
        if let last = arrivals.last, boot - last.at < Self.resolution {
            arrivals[arrivals.count - 1].count += count
            arrivals[arrivals.count - 1].times =
                min(last.times.lowerBound, first)...max(last.times.upperBound, newest)
            return
        }
        let expired = arrivals.firstIndex { boot - $0.at < window } ?? arrivals.count
        if expired > 0 { arrivals.removeFirst(expired) }
        arrivals.append(Arrival(at: boot, count: count, times: first...newest))
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

    /// Returns the rate of the samples that arrived in the last `window` µs, in samples per second.
    ///
    /// It is computed from the times of the samples: unlike ``average(since:at:window:)``, it depends neither on when
    /// batches arrive nor on how many of them the window happens to contain. Once the samples have stopped, it falls back
    /// to the average, which decreases to 0.
    func rate(since start: Int64?, at boot: Int64, window: Int64) -> Double {
        let recent = arrivals.drop { boot - $0.at >= window }
        guard let first = recent.first, let last = recent.last else { return 0 }
        let arrivalSpan = last.at - first.at
        // A newer sample can be in an earlier batch, and any client may send any times.
        let (span, overflows) = last.times.upperBound.subtractingReportingOverflow(first.times.lowerBound)
        let count = recent.reduce(0) { $0 + $1.count }
        guard !overflows, span > 0, count >= 2 else { return average(since: start, at: boot, window: window) }
        let interval = recent.count > 1 ? arrivalSpan / Int64(recent.count - 1) : min(span, window)
        guard boot - last.at <= 2 * interval + 1_000_000 else { return average(since: start, at: boot, window: window) }
        // A recording can be played at another speed than its own.
        if recent.count >= 3 {
            let arrivalRate = Double(count - first.count) * 1e6 / Double(arrivalSpan)
            let sampleRate = Double(count - 1) * 1e6 / Double(span)
            return (0.5...2).contains(sampleRate / arrivalRate) ? sampleRate : arrivalRate
        }
        return Double(count - 1) * 1e6 / Double(span)
    }
}
