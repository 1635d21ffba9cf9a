import Glibc
import LockstepMotion

// The readings of sensors on the body.
//
// Derivatives are central differences over ±1 ms. For the fastest motion that a seed selects their error is below
// 0.001 m/s² and 0.0001 rad/s, well below the noise.
extension WalkingBody {
    /// Half the interval of the central differences, in s.
    private static let half = 0.001

    /// The standard deviation of the accelerometer's noise per axis, in g.
    package static let accelerometerNoise = 0.002
    /// The standard deviation of the gyroscope's noise per axis, in rad/s.
    package static let gyroscopeNoise = 0.002
    /// The standard deviation of the magnetometer's noise per axis, in µT.
    package static let magnetometerNoise = 0.3

    /// The number of decimals of a motion sensor's values, for a resolution well below its noise.
    package static let motionDecimals = 4

    /// Returns the acceleration of the device in m/s² east, north, up.
    package func acceleration(at time: Double) -> SIMD3<Double> {
        let (cycle, local) = pace.split(time)
        let before = position(cycle: cycle, local: local - Self.half)
        let now = position(cycle: cycle, local: local)
        let after = position(cycle: cycle, local: local + Self.half)
        return (before - 2 * now + after) / (Self.half * Self.half)
    }

    /// Returns the accelerometer reading in g along the device axes: gravity minus acceleration, (0, 0, -1) at rest,
    /// face up.
    package func accelerometer(at time: Double) -> SIMD3<Double> {
        let specificForce = acceleration(at: time) + SIMD3(0, 0, standardGravity)
        return attitude(at: time).inverse.rotate(-specificForce / standardGravity)
    }

    /// Returns the rotation rate in rad/s about the device axes.
    package func rotationRate(at time: Double) -> SIMD3<Double> {
        let (cycle, local) = pace.split(time)
        let before = attitude(cycle: cycle, local: local - Self.half)
        let after = attitude(cycle: cycle, local: local + Self.half)
        return (before.inverse * after).rotationVector / (2 * Self.half)
    }

    /// The earth's magnetic field in µT east, north, up: a dipole of 30 µT at the equator, rotated by the declination.
    package var earthField: SIMD3<Double> {
        let latitude = person.latitude * .pi / 180
        let horizontal = 30 * cos(latitude)
        return SIMD3(
            horizontal * sin(person.declination), horizontal * cos(person.declination), -60 * sin(latitude))
    }

    /// Returns the magnetometer reading in µT along the device axes.
    package func magnetometer(at time: Double) -> SIMD3<Double> { attitude(at: time).inverse.rotate(earthField) }

    /// Returns the noise of sample `index` with a standard deviation of 1 per axis; it depends only on the seed, `lane`
    /// and `index`.
    func noise(lane: UInt64, index: Int64) -> SIMD3<Double> {
        var generator = SeededGenerator(seed: seed, lane: lane, index: index)
        return generator.gaussianVector()
    }
}
