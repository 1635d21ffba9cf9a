import LockstepModel

/// Converts samples to low-pass filtered values at the instants k · period since 1970.
///
/// A value is Σ w(tᵢ − t) Δᵢ xᵢ / Σ w(tᵢ − t) Δᵢ over the samples within three periods, where Δᵢ is half the time
/// between the neighbours of sample i. This is the convolution of the signal with the kernel by the trapezoidal rule,
/// which is valid for unevenly spaced samples.
struct GridFilter: Sendable {
    /// The minimum sum of weights for a value. The sum is a half at the first and last sample of a segment. The limit
    /// is slightly lower, because the sum only approximates the integral.
    private static let minWeight = 0.45
    /// The gap that separates two segments, in periods; never more than ``maxPause``.
    private static let maxGapPeriods = 3.0
    /// The upper limit of that gap, in µs.
    private static let maxPause = 1e6
    /// The lower limit of that gap in mean intervals, so that a slow stream is not divided into single samples.
    private static let minGapIntervals = 4.0

    private let rate: Double
    private let columnCount: Int
    private let kernel: ResamplingKernel
    private let gap: Double
    private var resolution = DecimalResolution()

    /// The samples of the segment that are still needed, from `head` on. A sample is one row of `values`.
    private var times: [Int64] = []
    private var values: [Double] = []
    private var head = 0
    /// The number of the next instant; nil before the first sample of a segment.
    private var nextInstant: Int64?
    /// The time of the last output, in µs. Later outputs have later times.
    private(set) var lastOutputTime: Int64

    init(rate: Double, columnCount: Int) {
        self.rate = rate
        self.columnCount = columnCount
        kernel = ResamplingKernel(period: 1e6 / rate)
        gap = min(Self.maxGapPeriods * 1e6 / rate, Self.maxPause)
        lastOutputTime = .min
    }

    /// - Parameter meanInterval: the mean interval of recent samples, in µs.
    mutating func add(time: Int64, row: [Double], meanInterval: Double, into output: inout SampleBlockBuilder) {
        if let last = times.last {
            if time == last { return }
            if time < last || Double(time - last) > max(gap, Self.minGapIntervals * meanInterval) {
                endSegment(into: &output)
            }
        }
        times.append(time)
        values.append(contentsOf: row)
        for value in row { resolution.observe(value) }
        while let instant = instant(), Double(time - instant) >= kernel.reach { emit(instant, into: &output) }
    }

    /// Emits the remaining values of the segment. The next sample starts a new segment.
    mutating func endSegment(into output: inout SampleBlockBuilder) {
        while let instant = instant(), let last = times.last, instant <= last { emit(instant, into: &output) }
        times.removeAll(keepingCapacity: true)
        values.removeAll(keepingCapacity: true)
        head = 0
        nextInstant = nil
    }

    /// Records that a sample at `time` was emitted elsewhere, so that later outputs have later times.
    mutating func skip(through time: Int64) { lastOutputTime = max(lastOutputTime, time) }

    /// Returns the next instant to emit: not before the first sample of the segment and later than the last output.
    private mutating func instant() -> Int64? {
        guard let first = times.first else { return nil }
        var number = nextInstant ?? Int64((Double(first) / 1e6 * rate).rounded(.down))
        while time(ofInstant: number) < first || time(ofInstant: number) <= lastOutputTime {
            // After a step back in time this may be far behind: skip the instants in between at once.
            let behind = (Double(lastOutputTime) - Double(time(ofInstant: number))) / 1e6 * rate
            number += max(1, Int64(min(max(behind, 0), 1e15)) - 1)
        }
        nextInstant = number
        return time(ofInstant: number)
    }

    private func time(ofInstant number: Int64) -> Int64 { Int64((Double(number) * 1e6 / rate).rounded()) }

    private mutating func emit(_ instant: Int64, into output: inout SampleBlockBuilder) {
        // Keep the sample before the window: the weight of the first sample inside depends on its time.
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
        if whole >= Self.minWeight {
            for column in 0..<columnCount {
                sums[column] =
                    weights[column] >= Self.minWeight ? resolution.resolved(sums[column] / weights[column]) : .nan
            }
            output.append(time: instant, row: sums)
            lastOutputTime = instant
        }
        dropPassed()
    }

    /// Removes samples that no later window needs. Not done on every output, because removing costs time in proportion
    /// to the number of samples.
    private mutating func dropPassed() {
        guard head > 256, head > times.count / 2 else { return }
        // Keep one more sample, whose time is needed for the weight of the next one.
        let count = head - 1
        times.removeFirst(count)
        values.removeFirst(count * columnCount)
        head = 1
    }
}
