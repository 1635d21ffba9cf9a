import Glibc

/// The parameters that a seed selects: the person, the place, and how the device is carried.
package struct WalkingPerson: Sendable, Hashable {
    /// The cadence at full stride in steps/s: 1.6…2.1.
    package var cadence: Double
    /// The step length in m: 0.6…0.8.
    package var stepLength: Double
    /// The amplitude of the vertical movement with each step, in m.
    package var bob: Double
    /// The amplitude of the sideways movement with each pair of steps, in m.
    package var sway: Double
    /// The amplitudes of the rotation about the device axes while walking, in rad.
    package var wobble: SIMD3<Double>
    /// The rotation of the held device about its x axis (top edge up), in rad; with a roll of 0, 0 is face up.
    package var pitch: Double
    /// The rotation about its y axis, after the pitch, in rad.
    package var roll: Double
    /// The radius of the circle in m; it is walked clockwise.
    package var radius: Double
    /// The course at the start, in rad clockwise from north.
    package var startCourse: Double
    /// The latitude of the start in degrees, north positive.
    package var latitude: Double
    /// The longitude of the start in degrees, east positive.
    package var longitude: Double
    /// The altitude of the start in m above mean sea level.
    package var altitude: Double
    /// The angle from true to magnetic north in rad, east positive.
    package var declination: Double

    package init(seed: UInt64) {
        var generator = SeededGenerator(seed: seed, lane: 0)
        func draw(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &generator) }
        cadence = draw(1.6...2.1)
        stepLength = draw(0.6...0.8)
        bob = draw(0.018...0.03)
        sway = draw(0.01...0.02)
        wobble = SIMD3(draw(0.03...0.06), draw(0.02...0.05), draw(0.03...0.06))
        pitch = draw(0.1...0.7)
        roll = draw(-0.25...0.25)
        radius = draw(20...60)
        startCourse = draw(0...(2 * .pi))
        let park = Self.parks[Int.random(in: Self.parks.indices, using: &generator)]
        // Spread the starts over a few hundred metres, so that simulated persons do not all walk in the same spot.
        latitude = park.latitude + draw(-0.002...0.002)
        longitude = park.longitude + draw(-0.002...0.002)
        altitude = park.altitude
        declination = park.declination * .pi / 180
    }

    /// Parks to walk in: degrees north and east, m above mean sea level, and the magnetic declination in degrees (WMM
    /// 2025, rounded).
    private static let parks: [(latitude: Double, longitude: Double, altitude: Double, declination: Double)] = [
        (48.1537, 11.5922, 515, 4), (51.5074, -0.1657, 30, 1), (40.7812, -73.9665, 40, -12.5),
        (35.7148, 139.7737, 20, -8), (-33.8642, 151.2166, 25, 13), (-34.5711, -58.4173, 15, -10),
        (37.7694, -122.4862, 75, 13), (1.3138, 103.8159, 20, 0.5),
    ]
}

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
    static func smoothStep(_ position: Double) -> Double {
        let u = min(max(position, 0), 1)
        return u * u * u * (u * (u * 6 - 15) + 10)
    }

    /// The integral of the smooth step from 0: u⁶ - 3u⁵ + 2.5u⁴, and a line of slope 1 beyond 1.
    static func smoothStepIntegral(_ position: Double) -> Double {
        let u = min(max(position, 0), 1)
        return u * u * u * u * (u * (u - 3) + 2.5) + max(0, position - 1)
    }
}
