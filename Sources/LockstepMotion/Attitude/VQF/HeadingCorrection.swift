import Glibc

/// Corrects the heading with the magnetometer: tracks the angle about the vertical between the drifting frame of the
/// gyroscope and the earth frame.
struct HeadingCorrection: Sendable {
    /// The rotation about the vertical from the drifting frame to the earth frame, in rad.
    private(set) var angle = 0.0
    /// Whether the field is disturbed or not known yet.
    var isDisturbed: Bool { monitor.isDisturbed }

    private var monitor: MagneticDisturbanceDetector
    /// The time for which a disturbed field has been rejected, in s. It starts at the limit, so that an unknown field
    /// is used from the beginning.
    private var rejectedTime: Double
    /// The gain of the first updates: 1/1, 1/2, 1/3, … (a mean), so that the heading is available at once; 0
    /// afterwards.
    private var startGain = 1.0
    /// The gain of an update with an undisturbed field.
    private var gain: Double
    private let parameters: VQFParameters

    init(_ parameters: VQFParameters, interval: Double) {
        self.parameters = parameters
        rejectedTime = parameters.maxRejectionDuration
        monitor = MagneticDisturbanceDetector(parameters, interval: interval)
        gain = followingGain(time: parameters.magnetometerTime, interval: interval)
    }

    /// - Parameters:
    ///   - field: the magnetic field in the drifting frame, whose z axis points up; not zero.
    ///   - rotation: the magnitude of the rotation rate, in rad/s.
    @inline(__always)
    mutating func update(_ field: SIMD3<Double>, rotation: Double, interval: Double, elapsed: Double) {
        monitor.update(field, rotation: rotation, interval: interval, elapsed: elapsed)
        var gain = trustedGain(elapsed)
        if startGain != 0 {
            gain = max(gain, startGain)
            startGain /= startGain + 1
            if startGain * parameters.magnetometerTime < interval { startGain = 0 }
        }
        angle = wrapped(angle + gain * wrapped(atan2(field.x, field.y) - angle))
    }

    mutating func retune(interval: Double) {
        monitor.retune(interval: interval)
        gain = followingGain(time: parameters.magnetometerTime, interval: interval)
    }

    /// Returns the gain for the current field: 0 while a disturbance is rejected, and reduced if it lasts longer than
    /// the rejection.
    @inline(__always)
    private mutating func trustedGain(_ elapsed: Double) -> Double {
        guard monitor.isDisturbed else {
            rejectedTime = max(rejectedTime - parameters.rejectionFactor * elapsed, 0)
            return gain
        }
        guard rejectedTime <= parameters.maxRejectionDuration else { return gain / parameters.rejectionFactor }
        rejectedTime += elapsed
        return 0
    }
}

/// Maps an angle of −2π…2π to −π…π.
@inline(__always)
private func wrapped(_ angle: Double) -> Double {
    angle > .pi ? angle - 2 * .pi : angle < -.pi ? angle + 2 * .pi : angle
}
