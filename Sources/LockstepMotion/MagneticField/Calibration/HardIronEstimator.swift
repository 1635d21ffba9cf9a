/// Estimates the device's own magnetic field (hard iron), which rotates with the device, together with the earth's
/// field, which does not.
///
/// A reading m at an attitude R (device to earth) is Rᵀ h + b, where h is the earth's field and b the device's own.
/// Both follow by least squares from readings at many attitudes. The sums decay exponentially. A reading counts only
/// after a rotation, so that a device at rest does not change the estimate.
///
/// h is relative to the frame without magnetometer. The heading of this frame drifts slowly, which is harmless because
/// the sums decay faster.
struct HardIronEstimator: Sendable {
    /// The cosine of half the rotation after which a reading counts: 5°.
    private static let maxCosine = 0.999_048
    /// The time constant of the sums, in readings.
    private static let memory = 400.0
    /// The number of readings needed for an estimate.
    private static let minReadings = 20.0
    /// The noise of a good magnetometer in µT: a lower limit for the estimated noise.
    private static let minNoise = 0.3
    /// The number of standard errors by which the offset must change to be applied. Residuals are correlated in time,
    /// so the error is several times the standard error.
    private static let significance = 6.0
    /// The ridge (Tikhonov regularisation), relative to the information about an axis that was rotated through all
    /// directions. The offset along an axis without information is 0.
    private static let ridge = 0.002

    /// The device's own field in µT along its axes; 0 until it is known to 3 µT.
    private(set) var offset = SIMD3<Double>(0, 0, 0)
    /// The accuracy of ``offset``.
    private(set) var accuracy = CalibratedMagneticField.Accuracy.uncalibrated
    /// The root mean square of the residuals per axis, in µT; nil before there are enough readings.
    private(set) var residual: Double?

    private var weight = 0.0
    /// Weighted sums of the device's axes in the frame, of the readings, of the readings in the frame, and of their
    /// squares.
    private var axes = (x: SIMD3(0.0, 0, 0), y: SIMD3(0.0, 0, 0), z: SIMD3(0.0, 0, 0))
    private var readings = SIMD3(0.0, 0, 0)
    private var turnedReadings = SIMD3(0.0, 0, 0)
    private var squares = 0.0
    private var last: Quaternion?
    /// The number of further readings for which the previous calibration remains valid, because an estimate from few
    /// readings is less accurate.
    private var remainingGrace = 0
    /// The initial value of ``remainingGrace`` after a restart.
    private static let graceReadings = 100

    /// The calibration of the same device for a new frame: the result is kept, the sums restart.
    var restarted: HardIronEstimator {
        var next = HardIronEstimator()
        next.offset = offset
        next.accuracy = accuracy
        next.remainingGrace = accuracy > .uncalibrated ? Self.graceReadings : 0
        return next
    }

    /// - Parameters:
    ///   - reading: in µT along the device's axes.
    ///   - attitude: from the device to a frame whose heading may drift.
    /// - Returns: whether the reading counts, because the device has rotated since the last one that did.
    mutating func update(_ reading: SIMD3<Double>, attitude: Quaternion) -> Bool {
        if let last {
            let cosine = abs(last.scalar * attitude.scalar + dot(last.vector, attitude.vector))
            guard cosine < Self.maxCosine else { return false }
        }
        last = attitude
        let fading = 1 - 1 / Self.memory
        weight = fading * weight + 1
        axes.x = fading * axes.x + attitude.rotate(SIMD3(1, 0, 0))
        axes.y = fading * axes.y + attitude.rotate(SIMD3(0, 1, 0))
        axes.z = fading * axes.z + attitude.rotate(SIMD3(0, 0, 1))
        readings = fading * readings + reading
        turnedReadings = fading * turnedReadings + attitude.rotate(reading)
        squares = fading * squares + dot(reading, reading)
        if weight >= Self.minReadings { solve() }
        return true
    }

    private mutating func solve() {
        let mean = (x: axes.x / weight, y: axes.y / weight, z: axes.z / weight)
        let (reading, turned) = (readings / weight, turnedReadings / weight)
        /// Returns I − S̄ᵀS̄, the mean information about b of one reading.
        func information(ridge: Double) -> SymmetricMatrix {
            SymmetricMatrix(
                xx: 1 + ridge - dot(mean.x, mean.x), xy: -dot(mean.x, mean.y), xz: -dot(mean.x, mean.z),
                yy: 1 + ridge - dot(mean.y, mean.y), yz: -dot(mean.y, mean.z),
                zz: 1 + ridge - dot(mean.z, mean.z))
        }
        let known = reading - SIMD3(dot(mean.x, turned), dot(mean.y, turned), dot(mean.z, turned))
        let found = information(ridge: Self.ridge).inverse * known
        // Infinite or NaN if the device was rotated about one axis only.
        let spread = information(ridge: 0).inverse
        let earth = turned - mean.x * found.x - mean.y * found.y - mean.z * found.z
        // The mean square of the residuals. Because of the ridge, b does not minimise it exactly.
        let ofEarth = SIMD3(dot(mean.x, earth), dot(mean.y, earth), dot(mean.z, earth))
        let residual = squares / weight - dot(earth, turned) - dot(found, 2 * reading - ofEarth - found)
        let rootMeanSquare = (max(0, residual) / 3).squareRoot()
        self.residual = rootMeanSquare
        let noise = max(Self.minNoise, rootMeanSquare)
        let trace = spread.xx + spread.yy + spread.zz
        let sigma = trace > 0 ? noise * (trace / weight).squareRoot() : .infinity
        let present = CalibratedMagneticField.Accuracy(sigma: sigma, noise: noise, strength: length(earth))
        remainingGrace = max(0, remainingGrace - 1)
        accuracy = remainingGrace > 0 ? max(accuracy, present) : present
        guard present >= .medium, remainingGrace == 0 || offset == SIMD3(0, 0, 0) else { return }
        // Change the offset only by more than its uncertainty, because the heading filter interprets each change as a
        // change of the field.
        if length(found - offset) > max(1, Self.significance * sigma) { offset = found }
    }
}
