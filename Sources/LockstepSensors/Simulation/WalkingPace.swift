import Glibc

/// When the body stands and when it walks, in closed form: 3 s still, 1.5 s up to full stride, about 25 s walking,
/// 1.5 s down, and again.
///
/// Each cycle has an even number of steps, so that every cycle begins on the same foot and all that swings can be
/// told from the time within the cycle alone: it loses no accuracy over months.
package struct WalkingPace: Sendable, Hashable {
    package static let still = 3.0
    package static let ramp = 1.5

    /// Steps a second at full stride.
    package let cadence: Double
    /// Steps in a cycle.
    package let stepsPerCycle: Int
    /// Seconds at full stride in a cycle.
    package let walk: Double

    package init(cadence: Double) {
        self.cadence = cadence
        // Each ramp is worth half its length at full stride.
        stepsPerCycle = 2 * Int((cadence * (25 + Self.ramp) / 2).rounded())
        walk = Double(stepsPerCycle) / cadence - Self.ramp
    }

    /// Length of a cycle in s.
    package var cycle: Double { Self.still + 2 * Self.ramp + walk }

    /// The number of whole cycles before `time`, and the time within the one that runs, in s.
    package func split(_ time: Double) -> (cycle: Int, time: Double) {
        let index = max(0, (time / cycle).rounded(.down))
        return (Int(index), time - index * cycle)
    }

    /// How much of full stride there is at `time` s within a cycle: 0…1, twice continuously differentiable.
    package func envelope(_ time: Double) -> Double {
        let up = Self.smoothStep((time - Self.still) / Self.ramp)
        let down = Self.smoothStep((time - Self.still - Self.ramp - walk) / Self.ramp)
        return up - down
    }

    /// Steps since the beginning of the cycle, as a real number: cadence × the integral of the envelope.
    package func phase(_ time: Double) -> Double {
        let up = Self.smoothStepIntegral((time - Self.still) / Self.ramp)
        let down = Self.smoothStepIntegral((time - Self.still - Self.ramp - walk) / Self.ramp)
        return cadence * Self.ramp * (up - down)
    }

    /// The quintic 6u⁵ - 15u⁴ + 10u³, held at its ends.
    private static func smoothStep(_ position: Double) -> Double {
        let u = min(max(position, 0), 1)
        return u * u * u * (u * (u * 6 - 15) + 10)
    }

    /// The integral of the quintic from 0: u⁶ - 3u⁵ + 2.5u⁴, and from 1 on a line of slope 1.
    private static func smoothStepIntegral(_ position: Double) -> Double {
        let u = min(max(position, 0), 1)
        return u * u * u * u * (u * (u - 3) + 2.5) + max(0, position - 1)
    }
}
