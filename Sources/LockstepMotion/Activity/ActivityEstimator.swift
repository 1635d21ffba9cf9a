import Glibc
public import LockstepModel

/// Recognises what the person with a device is doing, from an accelerometer and, if there is one, the speed of a receiver.
///
/// Once a second, the movement of the last ten seconds is judged (`Movement`). An activity that is not that of before
/// begins after it has lasted a few seconds. It is then reported with its start. The cost is that of ``StepDetector``.
public struct ActivityEstimator: Sendable {
    /// The time between judgements, in µs.
    private static let interval: Int64 = 1_000_000
    /// The longest time without samples, in µs, after which the activity still goes on.
    private static let longestGap: Int64 = 60_000_000
    /// The time constant of the means, in s.
    private static let meanTime = 10.0
    /// The time constant of the mean direction of gravity, in s.
    private static let gravityTime = 5.0
    /// The time until the means are meaningful, in µs.
    private static let settling: Int64 = 8_000_000
    /// The time for which a speed is known, in µs.
    private static let maxSpeedAge: Int64 = 15_000_000
    /// The number of steps of which the cadence is the mean.
    private static let recentSteps = 8
    /// The time after which an activity is surer by one degree, in µs.
    private static let confirmation: Int64 = 60_000_000

    /// The time in µs that an activity must last before it is reported.
    private static func duration(of kind: MotionActivity.Kind) -> Int64 {
        switch kind {
        case .walking, .running: 3_000_000
        case .stationary: 5_000_000
        case .cycling, .unknown: 10_000_000
        case .automotive: 15_000_000
        }
    }

    private var detector = StepDetector()
    private var steps: [Step] = []
    /// The start of the current walk, in µs.
    private var walkStart: Int64 = 0
    /// The logarithms of strength, vibration, ratio across gravity, and kurtosis.
    private var means = SIMD4<Double>.zero
    private var down = SIMD3<Double>.zero
    /// The mean squares of the detector a second ago, and whether it was a walk.
    private var powers = SIMD4<Double>.zero
    private var wasWalking = false
    private var first: Int64?
    private var next: Int64 = .min
    private var last: Int64 = .min
    private var speed: (value: Double, time: Int64)?
    private var candidate: (kind: MotionActivity.Kind, since: Int64)?

    /// The current activity; nil before the first one is known.
    public private(set) var activity: MotionActivity?

    /// Creates an estimator in its initial state.
    public init() {}

    /// Processes samples of the accelerometer or the location in order of time.
    ///
    /// - Returns: rows of the `activity` stream: one for each change of the activity, and for each growth of its confidence.
    public mutating func update(_ samples: SampleBlock) -> SampleBlock {
        var rows = SampleBlock(stream: .activity)
        if samples.stream == .location,
            let column = SensorStream.location.columns.firstIndex(where: { $0.name == "speed" })
        {
            for (time, value) in zip(samples.times, samples.columns[column]) where value >= 0 { speed = (value, time) }
            return rows
        }
        guard samples.stream == .accelerometer else { return rows }
        let columns = samples.columns
        for (index, time) in samples.times.enumerated() {
            let known = steps.count
            detector.update(
                time: time, x: columns[0][index], y: columns[1][index], z: columns[2][index], into: &steps)
            for step in known..<steps.count where step == 0 || steps[step].start != steps[step - 1].time {
                walkStart = steps[step].start
            }
            if steps.count > 2 * Self.recentSteps { steps.removeFirst(steps.count - Self.recentSteps) }
            if first != nil, time - last > Self.longestGap, activity.map({ $0.kind != .unknown }) ?? false {
                // Nobody knows what happened meanwhile.
                let end = Timestamp(microseconds: last + 1)
                report(
                    MotionActivity(startDate: end, kind: .unknown, confidence: .low), at: end.microseconds, into: &rows)
            }
            if first == nil || time - last > AccelerationResampler.maxGap {
                (first, next) = (time, time + Self.interval)
                candidate = nil
            }
            last = max(last, time)
            guard time >= next, let first else { continue }
            next = time + Self.interval
            // A walk tells nothing about what comes after it.
            let isChanged =
                wasWalking && !detector.isWalking && (activity?.kind == .walking || activity?.kind == .running)
            wasWalking = detector.isWalking
            if isChanged { self.first = time }
            measure(isFirst: isChanged || time < first + 2 * Self.interval)
            if time >= (self.first ?? time) + Self.settling || detector.isWalking { judge(at: time, into: &rows) }
        }
        return rows
    }

    /// Adds the last second to the means, which begin anew with `isFirst`.
    private mutating func measure(isFirst: Bool) {
        let evidence = detector.evidence
        // The mean squares of this second: those of the detector fade more slowly.
        let rest = exp(-Double(Self.interval) / 1e6 / StepParameters().strengthTime)
        let recent = isFirst ? evidence.powers : (evidence.powers - powers * rest) / (1 - rest)
        powers = evidence.powers
        let values = SIMD4(
            Self.level(recent.x), Self.level(recent.y), log(max(evidence.sideways ?? 1, 0.01)),
            log(detector.periodicity.kurtosis + 0.5))
        let gravity = evidence.gravity ?? .zero
        let direction = gravity / max(length(gravity), 1e-6)
        let seconds = Double(Self.interval) / 1e6
        means += (values - means) * (isFirst ? 1 : 1 - exp(-seconds / Self.meanTime))
        down += (direction - down) * (isFirst ? 1 : 1 - exp(-seconds / Self.gravityTime))
    }

    /// The logarithm of the root of a mean square, with a floor of 0.0005 g.
    private static func level(_ power: Double) -> Double { log(max(power, 0).squareRoot() + 0.0005) }

    private func movement(at time: Int64) -> Movement {
        let evidence = detector.evidence
        var movement = Movement(
            strength: exp(means.x) - 0.0005, vibration: exp(means.y) - 0.0005,
            sideways: evidence.sideways == nil ? nil : exp(means.z), burstiness: exp(means.w) - 0.5,
            tilt: max(0, 1 - dot(down, down)).squareRoot() * 180 / .pi, regularity: evidence.regularity ?? 0,
            isPedalling: evidence.isPedalling)
        if let speed, abs(time - speed.time) <= Self.maxSpeedAge { movement.speed = speed.value }
        let recent = steps.suffix(Self.recentSteps)
        if detector.isWalking, let first = recent.first, let last = recent.last, last.time > first.start {
            movement.strength = evidence.strength
            movement.cadence = Double(recent.count) / (Double(last.time - first.start) / 1e6)
        }
        return movement
    }

    private mutating func judge(at time: Int64, into rows: inout SampleBlock) {
        let (kind, confidence) = movement(at: time).activity
        let isGait = kind == .walking || kind == .running
        if candidate?.kind != kind {
            candidate = (kind, isGait && activity?.kind != .walking && activity?.kind != .running ? walkStart : time)
        }
        guard let since = candidate?.since else { return }
        if var current = activity, current.kind == kind {
            let isConfirmed = time - current.startDate.microseconds >= Self.confirmation
            let reached = kind != .unknown && isConfirmed && confidence == .medium ? .high : confidence
            guard reached > current.confidence else { return }
            current.confidence = reached
            report(current, at: time, into: &rows)
        } else if time - since >= Self.duration(of: kind) {
            let start = max(since, activity.map { $0.startDate.microseconds + 1 } ?? since)
            report(
                MotionActivity(
                    startDate: Timestamp(microseconds: start), kind: kind, confidence: confidence),
                at: time, into: &rows)
        }
    }

    private mutating func report(_ new: MotionActivity, at time: Int64, into rows: inout SampleBlock) {
        activity = new
        rows.append(time: Timestamp(microseconds: time), values: new.values)
    }
}
