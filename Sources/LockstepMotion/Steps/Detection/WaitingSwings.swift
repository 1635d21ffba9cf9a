import Glibc

/// Swings of which it is not yet known whether they are steps, oldest first.
struct WaitingSwings: Sendable {
    /// More than these are not kept: the oldest are given up.
    private static let most = 60

    private let parameters: StepParameters
    private var steps: [Step] = []
    /// How much the signal repeated itself at each of them.
    private var periodicities: [Double] = []

    init(parameters: StepParameters) {
        self.parameters = parameters
        steps.reserveCapacity(Self.most + 1)
        periodicities.reserveCapacity(Self.most + 1)
    }

    mutating func append(_ step: Step, periodicity: Double) {
        steps.append(step)
        periodicities.append(periodicity)
        if steps.count > Self.most {
            steps.removeFirst()
            periodicities.removeFirst()
        }
    }

    mutating func removeAll() {
        steps.removeAll(keepingCapacity: true)
        periodicities.removeAll(keepingCapacity: true)
    }

    /// The mean rise in g.
    var meanRise: Double { steps.reduce(0) { $0 + $1.rise } / Double(steps.count) }

    /// Whether the last of them are steps of a walk: enough, in a signal that repeats itself, at even intervals. What
    /// repeats itself less has to be more even.
    var areWalk: Bool {
        let count = parameters.steps
        guard steps.count >= count else { return false }
        let first = steps.count - count
        var periodicity = 0.0
        var (sum, squares) = (0.0, 0.0)
        for index in first..<steps.count {
            periodicity += periodicities[index]
            guard index > first else { continue }
            let interval = log(Double(steps[index].time - steps[index - 1].time) / 1e6)
            sum += interval
            squares += interval * interval
        }
        let mean = sum / Double(count - 1)
        let spread = max(0, squares / Double(count - 1) - mean * mean).squareRoot()
        return periodicity / Double(count) - parameters.spreadWeight * spread >= parameters.leastQuality
    }

    /// Adds them to `credited`, without weak ones at the beginning, when the device was being put away; none are left.
    mutating func credit(into credited: inout [Step]) {
        let least = parameters.fading * meanRise
        if let first = steps.firstIndex(where: { $0.rise >= least }), let last = steps.last, first < steps.count - 1 {
            // Nobody knows when the first step began.
            let mean = (last.time - steps[first].time) / Int64(steps.count - 1 - first)
            steps[first].start = max(steps[first].start, steps[first].time - mean)
            if steps[first].start == steps[first].time { steps[first].start -= mean }
            credited.append(contentsOf: steps[first...])
        }
        removeAll()
    }
}
