import Glibc

/// The heading by the magnetometer: the angle about the vertical between the frame that drifts with the gyroscope and
/// the earth's.
struct HeadingCorrection: Sendable {
    /// rad, from the drifting frame to that of the earth.
    private(set) var angle = 0.0
    var isDisturbed: Bool { monitor.isDisturbed }

    private var monitor: FieldMonitor
    /// s for which a disturbed field has been passed over; at the start all that is granted, since a field that is not
    /// known yet is better than none.
    private var rejectedTime: Double
    /// At the start 1/1, 1/2, 1/3, …, so that the heading is there at once; 0 when that is over.
    private var startGain = 1.0
    private var gain: Double
    private let parameters: VQFParameters

    init(_ parameters: VQFParameters, interval: Double) {
        self.parameters = parameters
        rejectedTime = parameters.longestRejection
        monitor = FieldMonitor(parameters, interval: interval)
        gain = followingGain(time: parameters.magnetometerTime, interval: interval)
    }

    /// - Parameters:
    ///   - field: in the frame that drifts, its z axis up; not zero.
    ///   - rotation: how fast the device turns, in rad/s.
    @inline(__always)
    mutating func update(_ field: SIMD3<Double>, rotation: Double, interval: Double, elapsed: Double) {
        monitor.update(field, rotation: rotation, interval: interval, elapsed: elapsed)
        var gain = trust(elapsed)
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

    /// By how much the field is followed: not at all while it is disturbed, for a while; then by a part.
    @inline(__always)
    private mutating func trust(_ elapsed: Double) -> Double {
        guard monitor.isDisturbed else {
            rejectedTime = max(rejectedTime - parameters.rejectionFactor * elapsed, 0)
            return gain
        }
        guard rejectedTime <= parameters.longestRejection else { return gain / parameters.rejectionFactor }
        rejectedTime += elapsed
        return 0
    }
}

/// An angle of -2π…2π as one of -π…π.
@inline(__always)
private func wrapped(_ angle: Double) -> Double {
    angle > .pi ? angle - 2 * .pi : angle < -.pi ? angle + 2 * .pi : angle
}
