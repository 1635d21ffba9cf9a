import Glibc

/// Decides which swings are steps: those that belong to a walk.
///
/// A single swing is weak evidence. Several swings at regular intervals in a periodic signal are a walk if the movement
/// can be gait (`GaitEvidence`). Swings are
/// pending until there are enough of them, and are then credited together. From then on each swing counts as a step at
/// once, until the swings stop, become much weaker, or are no longer those of gait.
struct StepGate: Sendable {
    private let parameters: StepParameters

    /// Whether the current swings belong to a walk.
    private(set) var isOpen = false
    /// Swings since the last pause that are not yet known to be steps. Empty while the gate is open.
    private var pending: PendingSwings
    private var limiter = CadenceLimiter()
    private var missed = MissedSteps()
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
    ///   - periodicity: the current periodicity of the signal.
    ///   - isGait: whether the movement can be gait.
    mutating func update(_ swing: Swing, periodicity: Periodicity, isGait: Bool, into steps: inout [Step]) {
        let elapsed = last.map { Double(swing.time - $0) / 1e6 } ?? .infinity
        // Too close to the last swing: a second peak of the same step.
        guard elapsed >= parameters.minStepInterval else { return }
        guard limiter.accepts(at: swing.time, period: periodicity.fundamentalPeriod) else {
            // A second peak of the same step: the stronger peak determines the strength of the walk.
            rises.z = max(rises.z, swing.rise)
            return
        }
        rises = SIMD3(rises.y, rises.z, swing.rise)
        var missedSteps = 0
        if elapsed > parameters.maxStepInterval {
            end()
            missed.reset()
        } else {
            missedSteps = missed.before(elapsed, periodicity)
        }
        let start = last ?? swing.time
        last = swing.time
        if isOpen, continues(after: elapsed), isGait {
            Self.divide(swing, from: start, missed: missedSteps) { steps.append($0) }
            return
        }
        isOpen = false
        Self.divide(swing, from: start, missed: missedSteps) { pending.append($0, periodicity: periodicity.value) }
        guard isGait, pending.formWalk else { return }
        isOpen = true
        meanRise = pending.meanRise
        pending.credit(into: &steps)
    }

    /// Passes on the step of a swing, after those that were missed since `start`.
    private static func divide(_ swing: Swing, from start: Int64, missed: Int, _ add: (Step) -> Void) {
        var before = start
        for part in 1...Int64(missed + 1) {
            let time = start + (swing.time - start) * part / Int64(missed + 1)
            add(Step(time: time, start: before, rise: swing.rise))
            before = time
        }
    }

    /// Whether a walk has not ended by a time in µs: the last swing of a walk does not show that it is the last.
    func isWalking(at time: Int64) -> Bool {
        guard isOpen, let last else { return false }
        return Double(time - last) / 1e6 <= parameters.maxStepInterval
    }

    /// Ends the walk, and forgets the swings that are not yet known to be steps.
    mutating func end() {
        isOpen = false
        pending.removeAll()
    }

    mutating func reset() {
        end()
        limiter = CadenceLimiter()
        missed.reset()
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
