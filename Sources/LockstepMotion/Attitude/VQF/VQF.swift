import Glibc

/// The orientation of a device by gyroscope, accelerometer and, where there is one, magnetometer.
///
/// Laidig & Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation and magnetic disturbance
/// rejection", Information Fusion 91 (2023): the gyroscope is integrated; the acceleration, low-passed in the frame that
/// results, corrects the inclination; the magnetometer corrects the heading, beside and without touching the inclination;
/// the gyroscope's bias is estimated at rest and in motion; a disturbed magnetic field is passed over.
///
/// Each sample is integrated over the time that has really passed; the filters are made for the mean interval and follow
/// it. Frames: the device's axes, right-handed; the earth east, north, up.
public struct VQF: Sendable {
    public let parameters: VQFParameters
    /// rad/s.
    @inline(__always)
    public var gyroscopeBias: SIMD3<Double> { bias.bias }
    /// Standard deviation of the bias in the worst direction, in rad/s.
    @inline(__always)
    public var gyroscopeBiasSigma: Double { bias.sigma }
    @inline(__always)
    public var isAtRest: Bool { rest.isAtRest }
    /// Whether the magnetic field is not, or not yet, known to be that of the earth.
    @inline(__always)
    public var isMagneticFieldDisturbed: Bool { heading.isDisturbed }
    /// From the frame without magnetometer to that with it: rad about the vertical.
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

    /// An estimator that has seen nothing.
    /// - Parameters:
    ///   - interval: s between samples of each sensor, above 0; a guess will do where it varies.
    ///   - gyroscopeBias: rad/s, where something is known of it; it is estimated from there.
    public init(
        interval: Double, parameters: VQFParameters = VQFParameters(), gyroscopeBias: SIMD3<Double> = SIMD3(0, 0, 0)
    ) {
        precondition(interval > 0, "an interval is above 0")
        self.parameters = parameters
        gyroscopeInterval = SampleInterval(interval)
        accelerometerInterval = SampleInterval(interval)
        magnetometerInterval = SampleInterval(interval)
        rest = RestDetector(parameters, gyroscopeInterval: interval, accelerometerInterval: interval)
        bias = BiasEstimator(parameters, interval: interval, bias: gyroscopeBias)
        heading = HeadingCorrection(parameters, interval: interval)
        accelerationFilter = LowPassCoefficients(time: parameters.accelerometerTime, interval: interval)
    }

    /// The attitude without magnetometer: from the device to a frame whose z axis is up and whose heading drifts.
    @inline(__always)
    public var attitude6D: Quaternion { inclinationCorrection * gyroscopeAttitude }

    /// The attitude with magnetometer: from the device to the earth, east, north (magnetic), up.
    @inline(__always)
    public var attitude9D: Quaternion { Self.turned(attitude6D, by: heading.angle) }

    /// Takes a sample of each sensor, at the nominal interval.
    @inline(__always)
    public mutating func update(
        gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, magnetometer: SIMD3<Double>? = nil
    ) {
        update(gyroscope: gyroscope, elapsed: gyroscopeInterval.nominal)
        update(accelerometer: accelerometer, elapsed: accelerometerInterval.nominal)
        if let magnetometer { update(magnetometer: magnetometer, elapsed: magnetometerInterval.nominal) }
    }

    /// Takes a sample of the gyroscope.
    /// - Parameters:
    ///   - rate: rad/s about the device's axes.
    ///   - elapsed: s since the gyroscope's sample before.
    @inline(__always)
    public mutating func update(gyroscope rate: SIMD3<Double>, elapsed: Double) {
        if gyroscopeInterval.observe(elapsed) { rest.retune(gyroscopeInterval: gyroscopeInterval.nominal) }
        rest.update(gyroscope: rate, interval: gyroscopeInterval.nominal)
        let unbiased = rate - bias.bias
        gyroscopeAttitude = (gyroscopeAttitude * Self.rotation(unbiased * elapsed)).normalized
    }

    /// Takes a sample of the accelerometer.
    /// - Parameters:
    ///   - force: specific force in m/s²: +9.8 upward at rest. (0, 0, 0) is passed over.
    ///   - elapsed: s since the accelerometer's sample before.
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
        inclinationCorrection = (Self.erecting(up) * inclinationCorrection).normalized
        bias.update(
            attitude: attitude6D, up: up, restRate: rest.isAtRest ? rest.rotationRate : nil,
            filter: accelerationFilter, interval: interval)
    }

    /// Takes a sample of the magnetometer.
    /// - Parameters:
    ///   - field: in any unit, always the same. (0, 0, 0) is passed over.
    ///   - elapsed: s since the magnetometer's sample before.
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

    /// The rotation by the length of a vector in rad about its direction.
    @inline(__always)
    private static func rotation(_ vector: SIMD3<Double>) -> Quaternion {
        let square = dot(vector, vector) / 4
        // Below 0.2 rad a few terms of the series are exact to the last bit, and spare a sine and a cosine.
        guard square > 0.01 else {
            let sine = 0.5 * (1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72))))
            let cosine = 1 - square / 2 * (1 - square / 12 * (1 - square / 30 * (1 - square / 56 * (1 - square / 90))))
            return Quaternion(scalar: cosine, vector: vector * sine)
        }
        let half = square.squareRoot()
        return Quaternion(scalar: cos(half), vector: vector * (0.5 * sin(half) / half))
    }

    /// The shortest rotation that takes a unit vector to (0, 0, 1).
    @inline(__always)
    static func erecting(_ up: SIMD3<Double>) -> Quaternion {
        let scalar = ((up.z + 1) / 2).squareRoot()
        // Upside down every horizontal axis will do.
        guard scalar > 1e-6 else { return Quaternion(scalar: 0, vector: SIMD3(1, 0, 0)) }
        return Quaternion(scalar: scalar, vector: SIMD3(0.5 * up.y / scalar, -0.5 * up.x / scalar, 0))
    }

    /// `attitude`, and then by `angle` rad about the vertical.
    @inline(__always)
    static func turned(_ attitude: Quaternion, by angle: Double) -> Quaternion {
        Quaternion(scalar: cos(angle / 2), vector: SIMD3(0, 0, sin(angle / 2))) * attitude
    }
}
