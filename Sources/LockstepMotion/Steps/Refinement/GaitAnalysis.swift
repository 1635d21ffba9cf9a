import Glibc

/// Gait figures of walks, from their steps.
public struct GaitAnalysis: Sendable, Hashable {
    /// The number of steps.
    public var steps: Int
    /// The number of walks.
    public var walks: Int
    /// The time walked, in s.
    public var seconds: Double
    /// The distance, in m; ``PedometerOptions`` describes its accuracy.
    public var distance: Double
    /// Steps a second while walking.
    public var cadence: Double
    /// The number of strides used. A stride is the time from a step to the next one of the same foot.
    public var strides: Int
    /// The mean duration of a stride, in s.
    public var strideTime: Double
    /// The standard deviation of the duration of a stride, in s.
    public var strideDeviation: Double
    /// The mean duration of the steps of the quicker foot relative to that of the other: 1 for a symmetric gait. nil if
    /// no walk has enough regular steps. Of a walk, the error is within about 6 · ``strideVariation`` / √ ``strides`` (95 %).
    public var stepSymmetry: Double?

    /// The coefficient of variation of the duration of a stride: ``strideDeviation`` / ``strideTime``.
    public var strideVariation: Double { strideDeviation / strideTime }
    /// The walking speed in m/s.
    public var speed: Double { distance / seconds }

    /// Strides that differ more from the median of their neighbours, relatively, are turns, pauses or missed steps.
    private static let maxDeviation = 0.25
    /// The number of consecutive regular steps from which the feet can be distinguished.
    private static let minRun = 10

    /// Analyses steps.
    ///
    /// - Returns: nil without three steps of a walk.
    public init?(_ all: [RefinedStep]) {
        let groups = Dictionary(grouping: all, by: \.walk).values.map { $0.sorted { $0.time < $1.time } }
        steps = all.count
        walks = groups.count
        seconds = all.reduce(0) { $0 + $1.duration }
        distance = all.reduce(0) { $0 + $1.length }
        cadence = seconds > 0 ? Double(steps) / seconds : 0
        var sum = StrideSums()
        var feet = FootSums()
        for group in groups {
            let durations = group.dropFirst().map(\.duration)
            guard durations.count >= 2 else { continue }
            let strides = zip(durations, durations.dropFirst()).map { $0 + $1 }
            let isRegular = strides.indices.map { index -> Bool in
                let near = strides[max(0, index - 5)...min(strides.count - 1, index + 5)].sorted()
                return abs(strides[index] / near[near.count / 2] - 1) <= Self.maxDeviation
            }
            for (stride, isRegular) in zip(strides, isRegular) where isRegular { sum.add(stride) }
            var run: [Double] = []
            for (index, duration) in durations.enumerated() {
                if index > 0, !isRegular[index - 1] {
                    if run.count >= Self.minRun { feet.add(run) }
                    run = []
                }
                run.append(duration)
            }
            if run.count >= Self.minRun { feet.add(run) }
        }
        guard sum.count > 0 else { return nil }
        strides = sum.count
        strideTime = sum.mean
        strideDeviation = sum.deviation
        stepSymmetry = feet.symmetry
    }
}

private struct StrideSums {
    private(set) var count = 0
    private(set) var mean = 0.0
    private var squares = 0.0

    /// B. P. Welford, "Note on a method for calculating corrected sums of squares and products", Technometrics 4 (1962).
    mutating func add(_ value: Double) {
        count += 1
        let difference = value - mean
        mean += difference / Double(count)
        squares += difference * (value - mean)
    }

    var deviation: Double { count > 1 ? (squares / Double(count - 1)).squareRoot() : 0 }
}

/// The difference between the durations of the steps of both feet. Which foot is which is unknown, and changes from run to
/// run, so the squares of the runs' differences are averaged, without those that the variation of steps causes alone.
private struct FootSums {
    /// The sum of the squares of the differences relative to the duration of a stride, and of their weights.
    private var (squares, weight) = (0.0, 0.0)

    mutating func add(_ run: [Double]) {
        let pairs = stride(from: 0, to: run.count - 1, by: 2).map { (first: run[$0], second: run[$0 + 1]) }
        let count = Double(pairs.count)
        let duration = pairs.reduce(0) { $0 + $1.first + $1.second } / count
        let mean = pairs.reduce(0) { $0 + $1.first - $1.second } / count
        let deviations = pairs.reduce(0) { sum, pair in
            let deviation = pair.first - pair.second - mean
            return sum + deviation * deviation
        }
        let variance = deviations / (count - 1) / count
        squares += count * (mean * mean - variance) / (duration * duration)
        weight += count
    }

    var symmetry: Double? {
        guard weight > 0 else { return nil }
        let difference = max(0, squares / weight).squareRoot()
        return (1 - difference) / (1 + difference)
    }
}
