import Glibc
import LockstepMotion

/// What sensors on the body read, without and with noise.
///
/// Derivatives are central differences over ±1 ms. For the fastest motion a seed can choose their error is below
/// 0.001 m/s² and 0.0001 rad/s, well below the noise.
extension WalkingBody {

    private static let half = 0.001

    /// Standard deviation of the noise of a sample: g, rad/s, µT a axis.
    package static let accelerometerNoise = 0.002
    package static let gyroscopeNoise = 0.002
    package static let magnetometerNoise = 0.3

    /// Decimals of what a motion sensor gives: well below its noise.
    package static let motionDecimals = 4

    /// Acceleration of the device, in m/s² east, north, up.
    package func acceleration(at time: Double) -> SIMD3<Double> {
        let (cycle, local) = pace.split(time)
        let before = position(cycle: cycle, local: local - Self.half)
        let now = position(cycle: cycle, local: local)
        let after = position(cycle: cycle, local: local + Self.half)
        return (before - 2 * now + after) / (Self.half * Self.half)
    }

    /// The accelerometer in g, in the frame of the device: gravity minus acceleration, so (0, 0, -1) at rest, face up.
    package func accelerometer(at time: Double) -> SIMD3<Double> {
        let specificForce = acceleration(at: time) + SIMD3(0, 0, standardGravity)
        return attitude(at: time).inverse.rotate(-specificForce / standardGravity)
    }

    /// Rotation rate in rad/s about the axes of the device.
    package func rotationRate(at time: Double) -> SIMD3<Double> {
        let (cycle, local) = pace.split(time)
        let before = attitude(cycle: cycle, local: local - Self.half)
        let after = attitude(cycle: cycle, local: local + Self.half)
        return (before.inverse * after).rotationVector / (2 * Self.half)
    }

    /// The earth's field in µT east, north, up: a dipole of 30 µT at the equator, turned by the place's declination.
    package var earthField: SIMD3<Double> {
        let latitude = person.latitude * .pi / 180
        let horizontal = 30 * cos(latitude)
        return SIMD3(
            horizontal * sin(person.declination), horizontal * cos(person.declination), -60 * sin(latitude))
    }

    /// The magnetometer in µT along the axes of the device.
    package func magnetometer(at time: Double) -> SIMD3<Double> { attitude(at: time).inverse.rotate(earthField) }

    /// The noise of sample `index`, one standard deviation on each axis: depends on the seed, `lane` and `index` alone.
    func noise(lane: UInt64, index: Int64) -> SIMD3<Double> {
        var generator = SeededGenerator(seed: seed, lane: lane, index: index)
        return generator.gaussianVector()
    }
}
