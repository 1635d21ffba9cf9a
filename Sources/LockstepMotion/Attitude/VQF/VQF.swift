import Glibc

/// Estimates the orientation of a device from gyroscope, accelerometer and, if present, magnetometer.
///
/// Laidig & Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation and magnetic disturbance
/// rejection", Information Fusion 91 (2023). The gyroscope is integrated. The acceleration, low-pass filtered in the
/// resulting frame, corrects the inclination. The magnetometer corrects the heading and never affects the inclination.
/// The gyroscope's bias is estimated at rest and in motion. A disturbed magnetic field is rejected.
///
/// Each sample is integrated over the actual time since the previous one. The filters are designed for the mean
/// interval and are redesigned when it changes. Frames: the device's axes are right-handed; the earth frame is east,
/// north, up.
public struct VQF: Sendable {
    /// The tuning of the estimator.
    public let parameters: VQFParameters
    /// The estimated bias of the gyroscope, in rad/s.
    @inline(__always)
    public var gyroscopeBias: SIMD3<Double> { bias.bias }
    /// The standard deviation of the bias in the worst direction, in rad/s.
    @inline(__always)
    public var gyroscopeBiasSigma: Double { bias.sigma }
    /// The inverse of the bias's covariance, in (0.01 °/s)⁻².
    var biasInformation: SymmetricMatrix { bias.information }
    /// Whether the device is at rest.
    @inline(__always)
    public var isAtRest: Bool { rest.isAtRest }
    /// Whether the magnetic field differs from the earth's, or the earth's field is not known yet.
    @inline(__always)
    public var isMagneticFieldDisturbed: Bool { heading.isDisturbed }
    /// The rotation about the vertical from the frame without magnetometer to the earth frame, in rad.
    @inline(__always)
    public var headingOffset: Double { heading.angle }

    private var gyroscopeAttitude = Quaternion(scalar: 1, vector: SIMD3(0, 0, 0))
    private var inclinationCorrection = Quaternion(scalar: 1, vector: SIMD3(0, 0, 0))
    private var rest: RestDetector
    private var bias: BiasEstimator
    private var heading: HeadingCorrection
    private var acceleration = LowPass<SIMD3<Double>>()
    private var accelerationFilter: LowPassCoefficients
    private var gyroscopeInterval: SampleInterval
    private var accelerometerInterval: SampleInterval
    private var magnetometerInterval: SampleInterval

    /// Creates an estimator in its initial state.
    ///
    /// - Parameters:
    ///   - interval: the sample interval of each sensor in s, above 0; an approximate value suffices if it varies.
    ///   - parameters: the tuning of the estimator.
    ///   - gyroscopeBias: the initial estimate of the bias, in rad/s.
    public init(
        interval: Double, parameters: VQFParameters = VQFParameters(), gyroscopeBias: SIMD3<Double> = SIMD3(0, 0, 0)
    ) {
        precondition(interval > 0, "the sample interval must be above 0")
        self.parameters = parameters
        gyroscopeInterval = SampleInterval(interval)
        accelerometerInterval = SampleInterval(interval)
        magnetometerInterval = SampleInterval(interval)
        rest = RestDetector(parameters, gyroscopeInterval: interval, accelerometerInterval: interval)
        bias = BiasEstimator(parameters, interval: interval, bias: gyroscopeBias)
        heading = HeadingCorrection(parameters, interval: interval)
        accelerationFilter = LowPassCoefficients(time: parameters.accelerometerTime, interval: interval)
    }

    /// The attitude without magnetometer: from the device to a frame whose z axis points up and whose heading drifts.
    @inline(__always)
    public var attitude6D: Quaternion { inclinationCorrection * gyroscopeAttitude }

    /// The attitude with magnetometer: from the device to the earth frame (east, magnetic north, up).
    @inline(__always)
    public var attitude9D: Quaternion { Self.rotatedAboutVertical(attitude6D, by: heading.angle) }

    /// Processes one sample of each sensor at the nominal interval.
    @inline(__always)
    public mutating func update(
        gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, magnetometer: SIMD3<Double>? = nil
    ) {
        update(gyroscope: gyroscope, elapsed: gyroscopeInterval.nominal)
        update(accelerometer: accelerometer, elapsed: accelerometerInterval.nominal)
        if let magnetometer { update(magnetometer: magnetometer, elapsed: magnetometerInterval.nominal) }
    }

    /// Processes a sample of the gyroscope.
    ///
    /// - Parameters:
    ///   - rate: the rotation rate about the device's axes, in rad/s.
    ///   - elapsed: the time since the gyroscope's previous sample, in s.
    @inline(__always)
    public mutating func update(gyroscope rate: SIMD3<Double>, elapsed: Double) {
        if gyroscopeInterval.observe(elapsed) { rest.retune(gyroscopeInterval: gyroscopeInterval.nominal) }
        rest.update(gyroscope: rate, interval: gyroscopeInterval.nominal)
        let unbiased = rate - bias.bias
        gyroscopeAttitude = (gyroscopeAttitude * Self.rotation(unbiased * elapsed)).normalized
    }

    /// Processes a sample of the accelerometer.
    ///
    /// - Parameters:
    ///   - force: the specific force in m/s²: +9.8 upward at rest. (0, 0, 0) is ignored.
    ///   - elapsed: the time since the accelerometer's previous sample, in s.
    @inline(__always)
    public mutating func update(accelerometer force: SIMD3<Double>, elapsed: Double) {
        guard force != SIMD3(0, 0, 0) else { return }
        if accelerometerInterval.observe(elapsed) { retuneAccelerometer() }
        let interval = accelerometerInterval.nominal
        rest.update(accelerometer: force, interval: interval, elapsed: elapsed)
        let smooth = acceleration.update(
            gyroscopeAttitude.rotate(force), accelerationFilter, settling: parameters.accelerometerTime,
            interval: interval)
        let turned = inclinationCorrection.rotate(smooth)
        let strength = length(turned)
        let up = strength > 0 ? turned / strength : SIMD3(0, 0, 1)
        inclinationCorrection = (Self.rotationToVertical(up) * inclinationCorrection).normalized
        bias.update(
            attitude: attitude6D, up: up, restRate: rest.isAtRest ? rest.rotationRate : nil,
            filter: accelerationFilter, interval: interval)
    }

    /// Processes a sample of the magnetometer.
    ///
    /// - Parameters:
    ///   - field: the magnetic field, in any constant unit. (0, 0, 0) is ignored.
    ///   - elapsed: the time since the magnetometer's previous sample, in s.
    @inline(__always)
    public mutating func update(magnetometer field: SIMD3<Double>, elapsed: Double) {
        guard field != SIMD3(0, 0, 0) else { return }
        if magnetometerInterval.observe(elapsed) { heading.retune(interval: magnetometerInterval.nominal) }
        heading.update(
            attitude6D.rotate(field), rotation: length(rest.rotationRate), interval: magnetometerInterval.nominal,
            elapsed: elapsed)
    }

    private mutating func retuneAccelerometer() {
        let interval = accelerometerInterval.nominal
        let new = LowPassCoefficients(time: parameters.accelerometerTime, interval: interval)
        acceleration.adapt(from: accelerationFilter, to: new)
        bias.retune(interval: interval, from: accelerationFilter, to: new)
        rest.retune(accelerometerInterval: interval)
        accelerationFilter = new
    }

    /// Returns the rotation about the direction of `vector` by its length in rad.
    @inline(__always)
    static func rotation(_ vector: SIMD3<Double>) -> Quaternion {
        let square = dot(vector, vector) / 4
        // Below 0.2 rad a few terms of the series are exact to the last bit and cheaper than sine and cosine.
        guard square > 0.01 else {
            let sine = 0.5 * (1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72))))
            let cosine = 1 - square / 2 * (1 - square / 12 * (1 - square / 30 * (1 - square / 56 * (1 - square / 90))))
            return Quaternion(scalar: cosine, vector: vector * sine)
        }
        let half = square.squareRoot()
        return Quaternion(scalar: cos(half), vector: vector * (0.5 * sin(half) / half))
    }

    /// Returns the shortest rotation that takes the unit vector `up` to (0, 0, 1).
    @inline(__always)
    static func rotationToVertical(_ up: SIMD3<Double>) -> Quaternion {
        let scalar = ((up.z + 1) / 2).squareRoot()
        // Upside down: any horizontal axis is a valid choice.
        guard scalar > 1e-6 else { return Quaternion(scalar: 0, vector: SIMD3(1, 0, 0)) }
        return Quaternion(scalar: scalar, vector: SIMD3(0.5 * up.y / scalar, -0.5 * up.x / scalar, 0))
    }

    /// Returns `attitude` followed by a rotation about the vertical by `angle` in rad.
    @inline(__always)
    static func rotatedAboutVertical(_ attitude: Quaternion, by angle: Double) -> Quaternion {
        Quaternion(scalar: cos(angle / 2), vector: SIMD3(0, 0, sin(angle / 2))) * attitude
    }
}
