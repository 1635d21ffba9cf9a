/// Finds steps that make no peak of their own.
///
/// At the wrist, and with a slow sensor, the weaker step of a stride may not show, while the stride itself does, as the
/// fundamental period of the signal (``Periodicity/fundamentalPeriod``). A stride has two steps. What is missing for
/// long enough to be no error of the period has been missed.
struct MissedSteps: Sendable {
    /// The periods in s that are strides. Shorter ones may be single steps, and longer ones several strides.
    private static let strides = 0.7...1.4
    /// The periodicity from which the signal shows strides.
    private static let minPeriodicity = 0.65
    /// The kurtosis from which peaks are separate steps of a slow walk rather than the swings of an arm.
    private static let maxKurtosis = 3.0
    /// The deficit from which a step is missed.
    private static let missed = 0.7
    /// The part of the deficit that remains with each swing: a small error of the period must not become a step.
    private static let remainder = 0.96
    /// The largest number of steps between two swings.
    private static let maxSteps = 3

    private var deficit = 0.0

    /// Returns how many steps there were before a swing that is a step, since the previous one.
    ///
    /// - Parameter elapsed: the time since the previous step, in s.
    mutating func before(_ elapsed: Double, _ periodicity: Periodicity) -> Int {
        guard let period = periodicity.fundamentalPeriod, Self.strides.contains(period),
            periodicity.value >= Self.minPeriodicity, periodicity.kurtosis < Self.maxKurtosis
        else {
            deficit = 0
            return 0
        }
        deficit = max(deficit * Self.remainder + 2 * elapsed / period - 1, -0.5)
        var steps = 0
        while deficit >= Self.missed, steps < Self.maxSteps {
            deficit -= 1
            steps += 1
        }
        return steps
    }

    mutating func reset() { deficit = 0 }
}
