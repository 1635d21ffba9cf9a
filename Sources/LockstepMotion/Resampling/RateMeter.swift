/// Whether the samples of a stream come faster than they are wanted: from the mean of the latest intervals, with
/// hysteresis, so that a rate near the limit does not make it change to and fro.
struct RateMeter: Sendable {
    /// How many times the wanted rate the samples may come for each answer to stay or to become what it is.
    private static let becomesPassing = 1.05
    private static let decidesFirst = 1.1
    private static let becomesThinned = 1.2

    /// Intervals that the mean is of; enough that jitter and a burst do not matter, few enough that a sensor that was
    /// set to another rate is followed within a second or so.
    private static let window = 32
    /// With fewer intervals than this an answer rests on too little, unless they span ``decidingSpan``.
    private static let fewest = 8
    /// Periods of the wanted rate.
    private static let decidingSpan = 6.0

    /// The wanted interval, in µs.
    private let period: Double
    private var intervals: [Double] = []
    private var next = 0
    private var last: Int64?
    private var span = 0.0

    /// Nil until enough samples have been seen; true: thin them out; false: let them pass.
    private(set) var isFaster: Bool?

    /// The mean interval between samples, in µs, without the longest, which are pauses; nil before the second sample.
    private(set) var meanInterval: Double?

    init(period: Double) { self.period = period }

    /// Takes the time of a sample, in µs; one that is not later than the one before says nothing.
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
            if intervals.count >= Self.fewest || span >= Self.decidingSpan * period { decide(ratio) }
        case true?: if ratio < Self.becomesPassing { isFaster = false }
        case false?: if ratio > Self.becomesThinned { isFaster = true }
        }
    }

    /// Answers with what has been seen so far, if there is no answer yet: nothing more may come.
    mutating func decide() { decide(meanInterval.map { period / $0 } ?? 0) }

    private mutating func decide(_ ratio: Double) { if isFaster == nil { isFaster = ratio > Self.decidesFirst } }

    /// The mean without the longest of three intervals or more, and the two longest of sixteen or more.
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
