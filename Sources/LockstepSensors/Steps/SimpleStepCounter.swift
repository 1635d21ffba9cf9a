import Glibc

/// Counts steps in an accelerometer's magnitude: low pass, level removed, one step for each swing below and then above
/// a threshold that follows the strength of the walk.
///
/// Good for a steady walk with the device on the body; it counts the swings of a hand at a desk as well.
public struct SimpleStepCounter: Sendable {
    /// Swings weaker than this, in g, are not steps.
    private static let weakest = 0.05
    /// The threshold as a part of the mean strength of the swings.
    private static let part = 0.45
    /// The shortest time between two steps, in s.
    private static let shortestStep = 0.3
    /// Two low passes at this frequency, in Hz, keep the step and take away what is sharper.
    private static let cutOff = 3.0
    /// Time constants, in s: of the level that is removed, and of the strength.
    private static let levelTime = 0.5
    private static let strengthTime = 1.0
    /// A longer time between two samples, in s, begins anew.
    private static let longestGap = 1.0

    private var filters: (time: Int64, first: Double, second: Double, level: Double)?
    private var strength = 0.0
    private var lastStep: Int64?
    private var isBelow = false

    /// A counter that has seen nothing.
    public init() {}

    /// Takes one accelerometer sample; true when it completes a step.
    /// - Parameters:
    ///   - time: µs of any clock that does not run backward.
    ///   - x: g along the x axis, of either sign convention; `y` and `z` likewise.
    public mutating func update(time: Int64, x: Double, y: Double, z: Double) -> Bool {
        let magnitude = (x * x + y * y + z * z).squareRoot()
        guard magnitude.isFinite else { return false }
        guard var state = filters, time > state.time, Double(time - state.time) / 1e6 <= Self.longestGap else {
            filters = (time, magnitude, magnitude, magnitude)
            strength = 0
            isBelow = false
            return false
        }
        let elapsed = Double(time - state.time) / 1e6
        let share = elapsed / (elapsed + 1 / (2 * .pi * Self.cutOff))
        state.first += share * (magnitude - state.first)
        state.second += share * (state.first - state.second)
        state.level += elapsed / (elapsed + Self.levelTime) * (state.second - state.level)
        state.time = time
        filters = state

        let swing = state.second - state.level
        strength += elapsed / (elapsed + Self.strengthTime) * (abs(swing) - strength)
        let threshold = max(Self.weakest, Self.part * strength)
        if swing < -threshold { isBelow = true }
        guard isBelow, swing > threshold else { return false }
        if let lastStep, Double(time - lastStep) / 1e6 < Self.shortestStep { return false }
        isBelow = false
        lastStep = time
        return true
    }
}
