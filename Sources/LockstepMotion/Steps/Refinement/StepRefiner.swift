import Glibc
public import LockstepModel

/// Determines the steps of a recording of any length with hindsight, with bounded memory.
///
/// ``StepDetector`` decides when the device is on a walk. Three things improve on its steps:
/// - The time of each step is that of the peak in the signal that is band-pass filtered forward and backward, which has no
///   delay, between the values of the 50 Hz grid. The band is wider than that of the detector, so that a difference between
///   the steps of both feet is preserved.
/// - Outliers are removed, such as a second peak of the same step (`StepSequence`).
/// - Cadence and length are computed from the steps before and after.
public struct StepRefiner: Sendable {
    /// The name and version of the method. The version changes whenever the results change.
    public static let method = "two-sided-gait"
    /// See ``method``.
    public static let version = 2
    /// The time before and after a step that influences it, in µs.
    public static let margin: Int64 = 60_000_000

    /// The number of values after which steps are returned: ten minutes.
    private static let maxValues = 30_000
    /// The number of values that are kept for steps that are recognised later: 30 s.
    private static let keptValues = 1500
    /// The time before the end of the values in which steps wait for more values, in µs. Without those after them, their
    /// times would be less accurate.
    private static let heldBack: Int64 = 5_000_000
    /// The values in which a peak is looked for: in the detector's band relative to the detector's peak, which is delayed,
    /// and then in the wide band relative to that.
    private static let searched = -10...5
    private static let searchedNearby = -6...6
    /// The band of step times, in Hz: from less than half a stride to more than the sideband that a difference of the feet
    /// causes, which is three halves of the step frequency.
    private static let band = (from: 0.3, to: 5.0)

    private let model: StepLengthModel
    private let sequence = StepSequence()
    private let parameters = StepParameters()
    private var detector = StepDetector()
    private var resampler = AccelerationResampler()
    /// The magnitudes on the grid.
    private var values: [Double] = []
    /// The middle of the first grid interval, in µs.
    private var start: Int64 = 0
    private var steps: [Step] = []
    /// The last step that was returned.
    private var last: RefinedStep?

    /// Creates a refiner.
    ///
    /// - Parameter options: known properties of the person.
    public init(options: PedometerOptions = PedometerOptions()) { model = StepLengthModel(options) }

    /// Processes accelerometer samples in order of time. Samples that are not later than the previous one are ignored.
    ///
    /// - Returns: the steps that are complete.
    /// - Precondition: `samples` belongs to the accelerometer stream.
    public mutating func update(_ samples: SampleBlock) -> [RefinedStep] {
        precondition(samples.stream == .accelerometer, "steps are counted from accelerometer samples")
        var results: [RefinedStep] = []
        let columns = samples.columns
        for (index, time) in samples.times.enumerated() {
            results += update(time: time, x: columns[0][index], y: columns[1][index], z: columns[2][index])
        }
        return results
    }

    /// Processes an accelerometer sample, in g.
    ///
    /// - Returns: the steps that are complete; usually none.
    public mutating func update(time: Int64, x: Double, y: Double, z: Double) -> [RefinedStep] {
        var results: [RefinedStep] = []
        switch resampler.add(time: time, x: x, y: y, z: z) {
        case .ignored: return []
        case .starts:
            results = take(all: true)
            values.removeAll(keepingCapacity: true)
            start = time + AccelerationResampler.cell / 2
        case .continues:
            while let value = resampler.next() { values.append(value.w) }
            // Not within a walk, unless it never ends.
            let isLong = values.count >= Self.maxValues && (!detector.isWalking || values.count >= 2 * Self.maxValues)
            if isLong { results = take(all: false) }
        }
        detector.update(time: time, x: x, y: y, z: z, into: &steps)
        return results
    }

    /// Returns the remaining steps. Counting continues with the next samples.
    public mutating func finish() -> [RefinedStep] {
        let results = take(all: true)
        detector = StepDetector()
        resampler = AccelerationResampler()
        values = []
        return results
    }

    /// Returns the steps so far, and drops values that are no longer needed.
    ///
    /// - Parameter all: whether no values follow that belong to the same walk.
    private mutating func take(all: Bool) -> [RefinedStep] {
        let narrow = steps.isEmpty ? [] : zeroPhase(from: parameters.lowCutOff, to: parameters.highCutOff)
        let candidates = steps.map { step in
            StepSequence.Candidate(time: peak(near: step.time, Self.searched, in: narrow) ?? step.time)
        }
        let limit = all ? .max : start + Int64(values.count) * AccelerationResampler.cell - Self.heldBack
        steps = zip(steps, candidates).filter { $0.1.time > limit }.map(\.0)
        let wide = candidates.isEmpty ? [] : zeroPhase(from: Self.band.from, to: Self.band.to)
        let times = sequence.selection(of: candidates).filter { $0 <= limit }.map {
            peak(near: $0, Self.searchedNearby, in: wide) ?? $0
        }
        let dropped = values.count - (all ? 0 : Self.keptValues)
        if dropped > 0 {
            values.removeFirst(dropped)
            start += Int64(dropped) * AccelerationResampler.cell
        }
        return refined(times)
    }

    private func zeroPhase(from: Double, to: Double) -> [Double] {
        var filtered = values
        for _ in 0..<2 {
            var band = BandPass(from: from, to: to)
            for index in filtered.indices.reversed() { filtered[index] = band.update(filtered[index]) }
            filtered.reverse()
        }
        return filtered
    }

    /// Returns the time of the peak of a filtered signal near a time, or nil if there is none.
    private func peak(near time: Int64, _ searched: ClosedRange<Int>, in filtered: [Double]) -> Int64? {
        let centre = Int((Double(time - start) / Double(AccelerationResampler.cell)).rounded())
        let low = max(1, centre + searched.lowerBound)
        let high = min(filtered.count - 2, centre + searched.upperBound)
        guard low <= high, let top = (low...high).max(by: { filtered[$0] < filtered[$1] }) else { return nil }
        let (before, value, after) = (filtered[top - 1], filtered[top], filtered[top + 1])
        let curvature = before - 2 * value + after
        guard value >= before, value >= after, curvature < 0 else { return nil }
        let vertex = (Double(top) + 0.5 * (before - after) / curvature) * Double(AccelerationResampler.cell)
        return start + Int64(vertex.rounded())
    }

    private mutating func refined(_ times: [Int64]) -> [RefinedStep] {
        var results: [RefinedStep] = []
        for time in times {
            guard time > last?.time ?? .min else { continue }
            var step = RefinedStep(time: time, start: time, walk: time)
            if let last, Double(time - last.time) / 1e6 <= parameters.maxStepInterval {
                (step.start, step.walk) = (last.time, last.walk)
            }
            last = step
            results.append(step)
        }
        for index in results.indices where results[index].walk == results[index].time {
            let next = results[(index + 1)...].prefix(6).prefix { $0.walk == results[index].walk }
            let mean = next.isEmpty ? 500_000 : next.reduce(0) { $0 + $1.time - $1.start } / Int64(next.count)
            let previous = index > 0 ? results[index - 1].time : .min
            results[index].start = max(results[index].time - mean, previous)
        }
        for index in results.indices {
            let near = results[max(0, index - 3)...min(index + 3, results.count - 1)]
                .filter { $0.walk == results[index].walk }
            results[index].cadence = Double(near.count) / near.reduce(0) { $0 + $1.duration }
            results[index].length = model.length(cadence: results[index].cadence)
        }
        return results
    }
}
