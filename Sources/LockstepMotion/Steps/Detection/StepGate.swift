import Glibc

/// Decides which swings are steps: those that belong to a walk.
///
/// A single swing is weak evidence. Several swings at regular intervals in a periodic signal are a walk. Swings are
/// pending until there are enough of them, and are then credited together. From then on each swing counts as a step at
/// once, until the swings stop or become much weaker.
struct StepGate: Sendable {
    private let parameters: StepParameters

    /// Whether the current swings belong to a walk.
    private(set) var isOpen = false
    /// Swings since the last pause that are not yet known to be steps. Empty while the gate is open.
    private var pending: PendingSwings
    private var limiter = CadenceLimiter()
    private var last: Int64?
    /// The rises of the last three swings, oldest first, in g.
    private var rises = SIMD3(0.0, 0.0, 0.0)
    /// The long-term mean rise of this walk, in g.
    private var meanRise = 0.0

    init(parameters: StepParameters) {
        self.parameters = parameters
        pending = PendingSwings(parameters: parameters)
    }

    /// Processes the next swing and appends newly recognised steps to `steps`.
    ///
    /// - Parameters:
    ///   - periodicity: the current periodicity of the signal, 0…1.
    ///   - period: the fundamental period of the signal in s; nil if it is unknown.
    mutating func update(_ swing: Swing, periodicity: Double, period: Double?, into steps: inout [Step]) {
        let elapsed = last.map { Double(swing.time - $0) / 1e6 } ?? .infinity
        // Too close to the last swing: a second peak of the same step.
        guard elapsed >= parameters.minStepInterval else { return }
        guard limiter.accepts(at: swing.time, period: period) else {
            // A second peak of the same step: the stronger peak determines the strength of the walk.
            rises.z = max(rises.z, swing.rise)
            return
        }
        let step = Step(time: swing.time, start: last ?? swing.time, rise: swing.rise)
        last = swing.time
        rises = SIMD3(rises.y, rises.z, swing.rise)
        if elapsed > parameters.maxStepInterval {
            isOpen = false
            pending.removeAll()
        }
        if isOpen, continues(after: elapsed) {
            steps.append(step)
            return
        }
        isOpen = false
        pending.append(step, periodicity: periodicity)
        guard pending.formWalk else { return }
        isOpen = true
        meanRise = pending.meanRise
        pending.credit(into: &steps)
    }

    mutating func reset() {
        isOpen = false
        pending.removeAll()
        limiter = CadenceLimiter()
        last = nil
        rises = SIMD3(0, 0, 0)
    }

    /// Updates the mean rise and returns whether the walk continues: its last three swings are not much weaker than the
    /// mean.
    private mutating func continues(after elapsed: Double) -> Bool {
        guard rises.sum() / 3 >= parameters.fadingRatio * meanRise else { return false }
        meanRise += (1 - exp(-elapsed / parameters.walkTimeConstant)) * (rises.z - meanRise)
        return true
    }
}
