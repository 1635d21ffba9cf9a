import Glibc

/// The cycle of standing and walking, in closed form: 3 s still, 1.5 s up to full stride, about 25 s walking, 1.5 s
/// down.
///
/// Each cycle has an even number of steps and begins on the same foot. The motion therefore depends only on the time
/// within the cycle, so that full accuracy is kept over months.
package struct WalkingPace: Sendable, Hashable {
    /// The time of standing still in a cycle, in s.
    package static let still = 3.0
    /// The duration of accelerating to full stride, and of stopping, in s.
    package static let ramp = 1.5

    /// The cadence at full stride, in steps/s.
    package let cadence: Double
    /// The number of steps in a cycle.
    package let stepsPerCycle: Int
    /// The time at full stride in a cycle, in s.
    package let walk: Double

    package init(cadence: Double) {
        self.cadence = cadence
        // A ramp has half as many steps as the same time at full stride.
        stepsPerCycle = 2 * Int((cadence * (25 + Self.ramp) / 2).rounded())
        walk = Double(stepsPerCycle) / cadence - Self.ramp
    }

    /// The length of a cycle in s.
    package var cycle: Double { Self.still + 2 * Self.ramp + walk }

    /// Returns the number of complete cycles before `time`, and the time within the current one, in s.
    package func split(_ time: Double) -> (cycle: Int, time: Double) {
        let index = max(0, (time / cycle).rounded(.down))
        return (Int(index), time - index * cycle)
    }

    /// Returns the fraction of full stride at `time` s within a cycle: 0…1, twice continuously differentiable.
    package func envelope(_ time: Double) -> Double {
        let up = Self.smoothStep((time - Self.still) / Self.ramp)
        let down = Self.smoothStep((time - Self.still - Self.ramp - walk) / Self.ramp)
        return up - down
    }

    /// Returns the fractional number of steps since the start of the cycle: cadence × the integral of the envelope.
    package func phase(_ time: Double) -> Double {
        let up = Self.smoothStepIntegral((time - Self.still) / Self.ramp)
        let down = Self.smoothStepIntegral((time - Self.still - Self.ramp - walk) / Self.ramp)
        return cadence * Self.ramp * (up - down)
    }

    /// The quintic smooth step 6u⁵ - 15u⁴ + 10u³, constant outside of 0…1.
    private static func smoothStep(_ position: Double) -> Double {
        let u = min(max(position, 0), 1)
        return u * u * u * (u * (u * 6 - 15) + 10)
    }

    /// The integral of the smooth step from 0: u⁶ - 3u⁵ + 2.5u⁴, and a line of slope 1 beyond 1.
    private static func smoothStepIntegral(_ position: Double) -> Double {
        let u = min(max(position, 0), 1)
        return u * u * u * u * (u * (u - 3) + 2.5) + max(0, position - 1)
    }
}
