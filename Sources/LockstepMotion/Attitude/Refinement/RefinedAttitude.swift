/// The samples of gyroscope, accelerometer and magnetometer at one time.
public struct MotionSample: Sendable, Hashable {
    /// The time, in µs.
    public var time: Int64
    /// The rotation rate about the device's axes, in rad/s.
    public var rotationRate: SIMD3<Double>
    /// The specific force in m/s²: +9.8 upward at rest.
    public var force: SIMD3<Double>
    /// The magnetic field, in any constant unit; nil if it is unknown.
    public var magneticField: SIMD3<Double>?

    /// Creates a sample.
    public init(
        time: Int64, rotationRate: SIMD3<Double>, force: SIMD3<Double>, magneticField: SIMD3<Double>? = nil
    ) {
        self.time = time
        self.rotationRate = rotationRate
        self.force = force
        self.magneticField = magneticField
    }
}

/// An attitude estimated from the samples before and after it.
public struct RefinedAttitude: Sendable, Hashable {
    /// The time, in µs.
    public var time: Int64
    /// The rotation from the device to a frame whose z axis points up.
    public var attitude = Quaternion(scalar: 1, vector: SIMD3(0, 0, 0))
    /// The bias of the gyroscope, in rad/s.
    public var gyroscopeBias: SIMD3<Double>
    /// The standard deviation of the bias in the worst direction, in rad/s.
    public var gyroscopeBiasSigma = 0.0
    /// Whether the device is at rest.
    public var isAtRest: Bool
    /// Whether the magnetic field differs from the earth's, or was not known.
    public var isMagneticFieldDisturbed: Bool
}

/// The tuning of ``AttitudeSmoother``.
public struct AttitudeSmootherParameters: Sendable, Hashable {
    /// The tuning of the forward and the backward pass, and of the acceleration's filter.
    public var vqf = VQFParameters()
    /// The time in which the weight of a measured heading decreases by the factor e, in s.
    public var headingTime = 25.0
    /// The weight of a disturbed magnetic field, relative to an undisturbed one.
    public var disturbedFieldWeight = 0.001
    /// The delay of the gyroscope's samples behind their timestamps, in sample intervals, 0…1. Many
    /// sensors have half an interval, but others none, and a recording does not tell.
    public var gyroscopeDelay = 0.0

    /// Creates the default parameters.
    public init() {}
}
