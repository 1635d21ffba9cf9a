import LockstepModel

/// Samples in, low-passed values at the instants k · period since 1970 out.
///
/// A value is Σ w(tᵢ − t) Δᵢ xᵢ / Σ w(tᵢ − t) Δᵢ over the samples within three periods, where Δᵢ is half the time
/// between the neighbours of sample i: the convolution of the signal with the kernel by the trapezoidal rule, which
/// holds for samples that are not evenly spaced.
struct GridFilter: Sendable {
    /// A value is given where the weights of its samples come to this part of the whole, which is a half at the first
    /// and at the last sample; a little less, because a sum is not an integral.
    private static let leastWeight = 0.45
    /// Samples further apart than so many periods, or than ``longestPause``, are of two segments.
    private static let longestGap = 3.0
    /// µs.
    private static let longestPause = 1e6
    /// No gap is shorter than so many mean intervals: slow samples are not a row of gaps.
    private static let shortestGap = 4.0

    private let rate: Double
    private let columnCount: Int
    private let kernel: ResamplingKernel
    private let gap: Double
    private var resolution = DecimalResolution()

    /// The samples of the segment that are still needed, from `head` on; a row of `values` is a sample.
    private var times: [Int64] = []
    private var values: [Double] = []
    private var head = 0
    /// The number of the next instant; nil before the first sample of a segment.
    private var nextInstant: Int64?
    /// The time of the last sample that was given, in µs: nothing at it or before it is given any more.
    private(set) var lastGiven: Int64

    init(rate: Double, columnCount: Int) {
        self.rate = rate
        self.columnCount = columnCount
        kernel = ResamplingKernel(period: 1e6 / rate)
        gap = min(Self.longestGap * 1e6 / rate, Self.longestPause)
        lastGiven = .min
    }

    /// Takes a sample.
    /// - Parameter meanInterval: of the samples lately, in µs.
    mutating func take(time: Int64, row: [Double], meanInterval: Double, into output: inout ColumnBuilder) {
        if let last = times.last {
            if time == last { return }
            if time < last || Double(time - last) > max(gap, Self.shortestGap * meanInterval) {
                endSegment(into: &output)
            }
        }
        times.append(time)
        values.append(contentsOf: row)
        for value in row { resolution.observe(value) }
        while let instant = instant(), Double(time - instant) >= kernel.reach { give(instant, into: &output) }
    }

    /// Gives what the samples at hand still allow: the next sample begins anew.
    mutating func endSegment(into output: inout ColumnBuilder) {
        while let instant = instant(), let last = times.last, instant <= last { give(instant, into: &output) }
        times.removeAll(keepingCapacity: true)
        values.removeAll(keepingCapacity: true)
        head = 0
        nextInstant = nil
    }

    /// Someone else has given a sample: what follows is later.
    mutating func skip(through time: Int64) { lastGiven = max(lastGiven, time) }

    /// The next instant to give: at the first sample of the segment or later, and later than what was given.
    private mutating func instant() -> Int64? {
        guard let first = times.first else { return nil }
        var number = nextInstant ?? Int64((Double(first) / 1e6 * rate).rounded(.down))
        while time(ofInstant: number) < first || time(ofInstant: number) <= lastGiven {
            // Far behind after time went back: no walk over all the instants between.
            let behind = (Double(lastGiven) - Double(time(ofInstant: number))) / 1e6 * rate
            number += max(1, Int64(min(max(behind, 0), 1e15)) - 1)
        }
        nextInstant = number
        return time(ofInstant: number)
    }

    private func time(ofInstant number: Int64) -> Int64 { Int64((Double(number) * 1e6 / rate).rounded()) }

    private mutating func give(_ instant: Int64, into output: inout ColumnBuilder) {
        // The sample before the window stays: the interval of the first one within is measured from it.
        while head + 1 < times.count, Double(instant - times[head + 1]) >= kernel.reach { head += 1 }
        var sums = [Double](repeating: 0, count: columnCount)
        var weights = sums
        var whole = 0.0
        var index = head
        while index < times.count, Double(times[index] - instant) < kernel.reach {
            let before = times[max(index - 1, 0)]
            let after = times[min(index + 1, times.count - 1)]
            let weight = kernel.weight(Double(times[index] - instant)) * Double(after - before) / 2
            whole += weight
            for column in 0..<columnCount {
                let value = values[index * columnCount + column]
                if value.isFinite {
                    sums[column] += weight * value
                    weights[column] += weight
                }
            }
            index += 1
        }
        nextInstant = nextInstant.map { $0 + 1 }
        if whole >= Self.leastWeight {
            for column in 0..<columnCount {
                sums[column] =
                    weights[column] >= Self.leastWeight ? resolution.resolved(sums[column] / weights[column]) : .nan
            }
            output.append(time: instant, row: sums)
            lastGiven = instant
        }
        dropPassed()
    }

    /// Forgets what no window reaches any more, now and then.
    private mutating func dropPassed() {
        guard head > 256, head > times.count / 2 else { return }
        // One more stays, for its time.
        let count = head - 1
        times.removeFirst(count)
        values.removeFirst(count * columnCount)
        head = 1
    }
}
