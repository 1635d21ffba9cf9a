/// The motion of a device at a common rate: magnitudes without their slow changes.
///
/// All steps treat past and future alike, so that they delay nothing: each value is the mean of the linear interpolation
/// over its interval, values are smoothed with symmetric windows, and the mean over three seconds is removed.
struct MotionGrid: Sendable {
    /// The interval of the grid, in µs.
    static let interval: Int64 = 5000
    /// The longest interval between samples that is interpolated, in µs.
    private static let maxGap: Int64 = 200_000
    /// Half the smoothing window: two passes over 45 ms suppress frequencies above 15 Hz, in which parts of one body
    /// move differently, and make the peak of the correlation a parabola within a few values.
    private static let smoothing = 4
    /// Half the window of the mean that is removed, in values.
    private static let slowness = 300

    /// The middle of the first interval, in µs.
    let start: Int64
    /// The motion; 0 where it is unknown.
    private(set) var values: [Double]
    /// 1 where the motion is known, otherwise 0.
    private(set) var known: [Double]

    init(_ series: MagnitudeSeries) {
        guard let first = series.times.first, let last = series.times.last else {
            (start, values, known) = (0, [], [])
            return
        }
        start = first + Self.interval / 2
        let count = Int((last - first) / Self.interval)
        values = [Double](repeating: 0, count: count)
        known = [Double](repeating: 0, count: count)
        resample(series, first)
        for _ in 0..<2 { values = mean(Self.smoothing) }
        let slow = mean(Self.slowness)
        for index in values.indices { values[index] = (values[index] - slow[index]) * known[index] }
    }

    /// The standard deviation of the motion.
    var deviation: Double {
        let count = known.reduce(0, +)
        return count > 0 ? (values.reduce(0) { $0 + $1 * $1 } / count).squareRoot() : 0
    }

    /// The duration for which the motion is known, in s.
    var knownSeconds: Double { known.reduce(0, +) * Double(Self.interval) / 1e6 }

    private mutating func resample(_ series: MagnitudeSeries, _ first: Int64) {
        var covered = [Int64](repeating: 0, count: values.count)
        for index in series.times.indices.dropFirst() {
            let (from, to) = (series.times[index - 1] - first, series.times[index] - first)
            guard to - from <= Self.maxGap else { continue }
            let (before, after) = (series.values[index - 1], series.values[index])
            let slope = (after - before) / Double(to - from)
            var position = from
            while position < to {
                let cell = Int(position / Self.interval)
                guard cell < values.count else { break }
                let end = min(to, Int64(cell + 1) * Self.interval)
                let middle = Double(position - from) + Double(end - position) / 2
                values[cell] += (before + slope * middle) * Double(end - position)
                covered[cell] += end - position
                position = end
            }
        }
        for cell in values.indices {
            let isKnown = covered[cell] == Self.interval
            known[cell] = isKnown ? 1 : 0
            values[cell] = isKnown ? values[cell] / Double(Self.interval) : 0
        }
    }

    /// Returns the mean of the known values within `half` values before and after each one.
    private func mean(_ half: Int) -> [Double] {
        var (sum, count) = (0.0, 0.0)
        var result = values
        for index in -half..<values.count {
            if index + half < values.count {
                sum += values[index + half]
                count += known[index + half]
            }
            if index > half {
                sum -= values[index - half - 1]
                count -= known[index - half - 1]
            }
            if index >= 0 { result[index] = known[index] > 0 ? sum / count : 0 }
        }
        return result
    }
}
