import Glibc

/// Estimates the attitude without a gyroscope: the inclination from the accelerometer, the heading from the
/// magnetometer if present. The result is accurate while the device is held still. In motion, its acceleration is
/// mistaken for gravity.
struct TiltCompass: Sendable {
    /// The cut-off frequency of the low-pass filters in Hz: it passes the movements of a steady hand.
    private static let cutOff = 1.0

    /// The rotation from the device to a frame whose z axis points up and whose heading is not corrected.
    private(set) var tilt: Quaternion
    /// The rotation about the vertical from that frame to the earth frame in rad; nil before the first field.
    private(set) var headingOffset: Double?
    /// The direction of the specific force, of unit length.
    private(set) var up: SIMD3<Double>?

    private var force = LowPassFilter(cutOff: cutOff)
    private var field = LowPassFilter(cutOff: cutOff)

    /// Starts from a known attitude.
    init(tilt: Quaternion = Quaternion(scalar: 1, vector: SIMD3(0, 0, 0))) { self.tilt = tilt }

    /// - Parameter acceleration: specific force in any unit, upward at rest.
    mutating func update(accelerometer acceleration: SIMD3<Double>, time: Int64) {
        let smooth = force.update(acceleration, time: time)
        let strength = length(smooth)
        guard strength > 0 else { return }
        let up = smooth / strength
        self.up = up
        // The shortest rotation that aligns the vertical leaves the heading unchanged.
        tilt = (VQF.rotationToVertical(tilt.rotate(up)) * tilt).normalized
    }

    mutating func update(magnetometer value: SIMD3<Double>, time: Int64) {
        let level = tilt.rotate(field.update(value, time: time))
        guard level.x != 0 || level.y != 0 else { return }
        headingOffset = atan2(level.x, level.y)
    }
}
