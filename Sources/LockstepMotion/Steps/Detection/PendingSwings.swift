import Glibc

/// Swings that are not yet known to be steps, oldest first.
struct PendingSwings: Sendable {
    /// The capacity. Beyond it the oldest swings are dropped: what took longer to recognise was not a walk before.
    private static let capacity = 12

    private let parameters: StepParameters
    private var steps: [Step] = []
    /// The periodicity of the signal at each swing.
    private var periodicities: [Double] = []

    init(parameters: StepParameters) {
        self.parameters = parameters
        steps.reserveCapacity(Self.capacity + 1)
        periodicities.reserveCapacity(Self.capacity + 1)
    }

    mutating func append(_ step: Step, periodicity: Double) {
        steps.append(step)
        periodicities.append(periodicity)
        if steps.count > Self.capacity {
            steps.removeFirst()
            periodicities.removeFirst()
        }
    }

    mutating func removeAll() {
        steps.removeAll(keepingCapacity: true)
        periodicities.removeAll(keepingCapacity: true)
    }

    /// The mean rise, in g.
    var meanRise: Double { steps.reduce(0) { $0 + $1.rise } / Double(steps.count) }

    /// Whether the newest swings form a walk: there are enough of them, the signal is periodic, and their intervals are
    /// regular. A lower periodicity requires more regular intervals.
    var formWalk: Bool {
        let count = parameters.minWalkSwings
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
        return periodicity / Double(count) - parameters.spreadWeight * spread >= parameters.minQuality
    }

    /// Moves the pending swings to `credited`. Weak swings at the beginning are dropped, because they are movements
    /// such as putting the device away.
    mutating func credit(into credited: inout [Step]) {
        let minRise = parameters.fadingRatio * meanRise
        if let first = steps.firstIndex(where: { $0.rise >= minRise }), let last = steps.last, first < steps.count - 1 {
            // The start of the first step is unknown, so it gets the mean duration of a step.
            let mean = (last.time - steps[first].time) / Int64(steps.count - 1 - first)
            steps[first].start = max(steps[first].start, steps[first].time - mean)
            if steps[first].start == steps[first].time { steps[first].start -= mean }
            credited.append(contentsOf: steps[first...])
        }
        removeAll()
    }
}
