/// Tracks cadence, pace and distance step by step.
struct WalkStatistics: Sendable {
    /// The number of steps over which cadence and pace are averaged.
    private static let recentSteps = 6

    private let model: StepLengthModel
    /// The durations of the last steps of this walk, in s, oldest first; at most ``recentSteps``.
    private var durations: [Double] = []
    private var lastStep: Int64?
    /// The distance in m and the time walked in s since the start.
    private var distance = 0.0
    private var seconds = 0.0

    init(_ options: PedometerOptions) {
        model = StepLengthModel(options)
        durations.reserveCapacity(Self.recentSteps + 1)
    }

    /// The cadence over the last steps of the walk, in steps/s; NaN before the first step.
    var cadence: Double { Double(durations.count) / durations.reduce(0, +) }

    /// The pace over the last steps of the walk, in s/m; NaN before the first step.
    var pace: Double { 1 / (cadence * model.length(cadence: cadence)) }

    /// The pace over all time walked, in s/m; NaN before the first step.
    var averagePace: Double { seconds / distance }

    /// - Returns: the length of the step, in m.
    mutating func add(_ step: Step) -> Double {
        if step.start != lastStep { durations.removeAll(keepingCapacity: true) }
        lastStep = step.time
        let duration = Double(step.time - step.start) / 1e6
        durations.append(duration)
        if durations.count > Self.recentSteps { durations.removeFirst() }
        let length = model.length(cadence: cadence)
        distance += length
        seconds += duration
        return length
    }
}
