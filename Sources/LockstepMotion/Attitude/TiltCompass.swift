import Glibc

/// The attitude without a gyroscope: what is up by the accelerometer, the heading by the magnetometer where there is
/// one. Right while the device is held still; while it is moved, its acceleration is taken for gravity.
struct TiltCompass: Sendable {
    /// Hz, about the fastest that a still hand turns a device.
    private static let cutOff = 1.0

    /// Device to a frame whose z axis is up and whose heading is not corrected.
    private(set) var tilt: Quaternion
    /// From that frame to east, north, up: rad about the vertical; nil before the first field.
    private(set) var headingOffset: Double?
    /// Specific force, unit length.
    private(set) var up: SIMD3<Double>?

    private var force = LowPassFilter(cutOff: cutOff)
    private var field = LowPassFilter(cutOff: cutOff)

    /// Begins with an attitude that was known before.
    init(tilt: Quaternion = Quaternion(scalar: 1, vector: SIMD3(0, 0, 0))) { self.tilt = tilt }

    /// - Parameter acceleration: specific force in any unit, upward at rest.
    mutating func update(accelerometer acceleration: SIMD3<Double>, time: Int64) {
        let smooth = force.update(acceleration, time: time)
        let strength = length(smooth)
        guard strength > 0 else { return }
        let up = smooth / strength
        self.up = up
        // The shortest turn that puts what is up where it belongs leaves the heading as it was.
        tilt = (VQF.erecting(tilt.rotate(up)) * tilt).normalized
    }

    mutating func update(magnetometer value: SIMD3<Double>, time: Int64) {
        let level = tilt.rotate(field.update(value, time: time))
        guard level.x != 0 || level.y != 0 else { return }
        headingOffset = atan2(level.x, level.y)
    }
}
