/// Decides whether the samples of a stream arrive faster than the requested rate, from the mean of the latest
/// intervals. Hysteresis keeps a rate near the limit from toggling the decision.
struct RateEstimator: Sendable {
    /// The ratio of the actual to the wanted rate below which a reduced stream passes unchanged again.
    private static let passThreshold = 1.05
    /// The ratio above which the first decision is to reduce the stream.
    private static let initialThreshold = 1.1
    /// The ratio above which a stream that passes unchanged is reduced again.
    private static let reduceThreshold = 1.2

    /// The number of intervals averaged: enough to absorb jitter and bursts, few enough to follow a change of the
    /// sensor's rate within about a second.
    private static let window = 32
    /// The number of intervals needed for the first decision, unless they span at least ``minSpan``.
    private static let minIntervals = 8
    /// The span that suffices for the first decision, in periods of the requested rate.
    private static let minSpan = 6.0

    /// The wanted interval, in µs.
    private let period: Double
    private var intervals: [Double] = []
    private var next = 0
    private var last: Int64?
    private var span = 0.0

    /// Whether the stream must be reduced; nil until enough samples have arrived.
    private(set) var isFaster: Bool?

    /// The mean interval between samples in µs, without the longest ones, which are pauses; nil before the second
    /// sample.
    private(set) var meanInterval: Double?

    init(period: Double) { self.period = period }

    /// Adds the time of a sample, in µs. A time that is not later than the previous one is ignored.
    mutating func observe(_ time: Int64) {
        defer { last = time }
        guard let last, time > last else { return }
        let interval = Double(time) - Double(last)
        span += interval
        if intervals.count < Self.window {
            intervals.append(interval)
        } else {
            intervals[next] = interval
            next = (next + 1) % Self.window
        }
        let mean = trimmedMean()
        meanInterval = mean
        let ratio = period / mean
        switch isFaster {
        case nil:
            if intervals.count >= Self.minIntervals || span >= Self.minSpan * period { decide(ratio) }
        case true?: if ratio < Self.passThreshold { isFaster = false }
        case false?: if ratio > Self.reduceThreshold { isFaster = true }
        }
    }

    /// Makes the first decision from the samples received so far, if it has not been made yet.
    mutating func decide() { decide(meanInterval.map { period / $0 } ?? 0) }

    private mutating func decide(_ ratio: Double) { if isFaster == nil { isFaster = ratio > Self.initialThreshold } }

    /// Returns the mean without the longest of three or more intervals, or the two longest of sixteen or more.
    private func trimmedMean() -> Double {
        var sum = 0.0
        var longest = 0.0
        var second = 0.0
        for interval in intervals {
            sum += interval
            if interval > longest {
                second = longest
                longest = interval
            } else {
                second = max(second, interval)
            }
        }
        switch intervals.count {
        case ..<3: return sum / Double(intervals.count)
        case ..<16: return (sum - longest) / Double(intervals.count - 1)
        default: return (sum - longest - second) / Double(intervals.count - 2)
        }
    }
}
