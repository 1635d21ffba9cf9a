import Glibc

/// Decides which swings are steps: those that come in a walk.
///
/// A single swing says little; several of them at about even intervals, in a signal that repeats itself, are a walk.
/// Swings wait until there are enough, and are then credited all at once; from there on each swing is a step, until
/// they fail to come, or fade.
struct StepGate: Sendable {
    private let parameters: StepParameters

    private(set) var isOpen = false
    /// Swings since the last pause that wait for the gate to open; while it is open there are none.
    private var waiting: WaitingSwings
    private var last: Int64?
    /// The rises of the last swings, oldest first, and the long mean of this walk's, in g.
    private var rises = SIMD3(0.0, 0.0, 0.0)
    private var meanRise = 0.0

    init(parameters: StepParameters) {
        self.parameters = parameters
        waiting = WaitingSwings(parameters: parameters)
    }

    /// Takes the next swing, and adds to `steps` what is now known to be steps.
    /// - Parameter periodicity: how much the signal repeats itself now: 0…1.
    mutating func update(_ swing: Swing, periodicity: Double, into steps: inout [Step]) {
        let elapsed = last.map { Double(swing.time - $0) / 1e6 } ?? .infinity
        // The second bump of one step.
        guard elapsed >= parameters.shortestStep else { return }
        let step = Step(time: swing.time, start: last ?? swing.time, rise: swing.rise)
        last = swing.time
        rises = SIMD3(rises.y, rises.z, swing.rise)
        if elapsed > parameters.longestStep {
            isOpen = false
            waiting.removeAll()
        }
        if isOpen, goesOn(after: elapsed) {
            steps.append(step)
            return
        }
        isOpen = false
        waiting.append(step, periodicity: periodicity)
        guard waiting.areWalk else { return }
        isOpen = true
        meanRise = waiting.meanRise
        waiting.credit(into: &steps)
    }

    mutating func reset() {
        isOpen = false
        waiting.removeAll()
        last = nil
        rises = SIMD3(0, 0, 0)
    }

    /// Whether the walk goes on: the swings have not faded.
    private mutating func goesOn(after elapsed: Double) -> Bool {
        guard rises.sum() / 3 >= parameters.fading * meanRise else { return false }
        meanRise += (1 - exp(-elapsed / parameters.walkMemory)) * (rises.z - meanRise)
        return true
    }
}
