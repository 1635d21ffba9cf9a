/// How fast the walk is now, and how far it went, step by step.
struct WalkMeter: Sendable {
    /// Steps that cadence and pace are of.
    private static let recentSteps = 6

    private let model: StepLengthModel
    /// The time that each of the last steps of this walk took, in s, oldest first; no more than ``recentSteps``.
    private var durations: [Double] = []
    private var lastStep: Int64?
    /// m and s since the beginning.
    private var distance = 0.0
    private var seconds = 0.0

    init(_ options: PedometerOptions) {
        model = StepLengthModel(options)
        durations.reserveCapacity(Self.recentSteps + 1)
    }

    /// Steps a second, over the last steps of the walk; not a number before the first.
    var cadence: Double { Double(durations.count) / durations.reduce(0, +) }

    /// s/m, over the last steps of the walk; not a number before the first.
    var pace: Double { 1 / (cadence * model.length(cadence: cadence)) }

    /// s/m, over all the time walked; not a number before the first step.
    var averagePace: Double { seconds / distance }

    /// Takes the next step.
    /// - Returns: its length in m.
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
