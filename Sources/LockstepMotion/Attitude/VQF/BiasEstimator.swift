import Glibc

/// Estimates the gyroscope's bias with a Kalman filter. At rest the bias is the gyroscope's reading. In motion it is
/// observed in the rate of the inclination corrections.
struct BiasEstimator: Sendable {
    /// The estimated bias, in rad/s.
    private(set) var bias: SIMD3<Double>
    /// The covariance, in (0.01 °/s)².
    private var covariance: SymmetricMatrix
    private let initialVariance: Double
    /// The largest bias per axis, in rad/s.
    private let maxBias: Double
    private let parameters: VQFParameters

    // Derived from the accelerometer's interval: the growth of the variance per sample, and the measurement weights
    // that make the filter converge to the standard deviations given by the parameters.
    private var growth = 0.0
    private var restWeight = 0.0
    private var motionWeight = 0.0
    private var verticalWeight = 0.0

    // The rows of the rotation from the device to the earth, each with the bias along it. They are low-pass filtered
    // like the acceleration so that both have the same delay.
    private var rows = (LowPass<SIMD4<Double>>(), LowPass<SIMD4<Double>>(), LowPass<SIMD4<Double>>())

    init(_ parameters: VQFParameters, interval: Double, bias: SIMD3<Double> = SIMD3(0, 0, 0)) {
        self.parameters = parameters
        self.bias = bias
        initialVariance = pow(parameters.initialBiasSigma * 100, 2)
        maxBias = parameters.maxBias * .pi / 180
        covariance = SymmetricMatrix(diagonal: initialVariance)
        tune(interval: interval)
    }

    /// The standard deviation in the worst direction, in rad/s.
    @inline(__always)
    var sigma: Double { min(covariance.rowSumNorm, initialVariance).squareRoot() / 100 * .pi / 180 }

    /// The inverse of the covariance, in (0.01 °/s)⁻².
    var information: SymmetricMatrix { covariance.inverse }

    /// Updates the estimate. Must be called for each accelerometer sample.
    ///
    /// - Parameters:
    ///   - attitude: from the device to the earth.
    ///   - up: the direction of the low-pass filtered acceleration before the inclination correction.
    ///   - restRate: the low-pass filtered rotation rate at rest, in rad/s; nil in motion.
    ///   - filter: the coefficients of the acceleration's low-pass filter.
    ///   - interval: the sample interval of the accelerometer, in s.
    @inline(__always)
    mutating func update(
        attitude: Quaternion, up: SIMD3<Double>, restRate: SIMD3<Double>?, filter: LowPassCoefficients,
        interval: Double
    ) {
        let (east, north, vertical) = smoothedRows(of: attitude, filter, interval)
        covariance.xx += covariance.xx < initialVariance ? growth : 0
        covariance.yy += covariance.yy < initialVariance ? growth : 0
        covariance.zz += covariance.zz < initialVariance ? growth : 0
        if let restRate {
            correct(
                by: restRate - bias, along: SIMD3(1, 0, 0), SIMD3(0, 1, 0), SIMD3(0, 0, 1),
                weights: SIMD3(restWeight, restWeight, restWeight))
        } else {
            let (x, y, z) = (axis(east), axis(north), axis(vertical))
            let error = SIMD3(
                -up.y / interval + east.w - dot(x, bias), up.x / interval + north.w - dot(y, bias), -dot(z, bias))
            correct(by: error, along: x, y, z, weights: SIMD3(motionWeight, motionWeight, verticalWeight))
        }
    }

    mutating func retune(interval: Double, from old: LowPassCoefficients, to new: LowPassCoefficients) {
        rows.0.adapt(from: old, to: new)
        rows.1.adapt(from: old, to: new)
        rows.2.adapt(from: old, to: new)
        tune(interval: interval)
    }

    private mutating func tune(interval: Double) {
        growth = pow(0.1 * 100, 2) * interval / parameters.biasForgettingTime
        func weight(_ sigma: Double) -> Double {
            let variance = pow(sigma * 100, 2)
            return variance * variance / growth + variance
        }
        restWeight = weight(parameters.restBiasSigma)
        motionWeight = weight(parameters.motionBiasSigma)
        verticalWeight = motionWeight / max(parameters.verticalForgettingFactor, 1e-10)
    }

    @inline(__always)
    private mutating func smoothedRows(
        of attitude: Quaternion, _ filter: LowPassCoefficients, _ interval: Double
    ) -> (SIMD4<Double>, SIMD4<Double>, SIMD4<Double>) {
        let (w, x, y, z) = (attitude.scalar, attitude.vector.x, attitude.vector.y, attitude.vector.z)
        let east = SIMD3(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (w * y + x * z))
        let north = SIMD3(2 * (w * z + x * y), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x))
        let up = SIMD3(2 * (x * z - w * y), 2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
        let time = parameters.accelerometerTime
        return (
            rows.0.update(
                SIMD4(east.x, east.y, east.z, dot(east, bias)), filter, settling: time, interval: interval),
            rows.1.update(
                SIMD4(north.x, north.y, north.z, dot(north, bias)), filter, settling: time, interval: interval),
            rows.2.update(SIMD4(up.x, up.y, up.z, 0), filter, settling: time, interval: interval)
        )
    }

    /// Corrects the estimate with a measurement of the bias along three directions.
    @inline(__always)
    private mutating func correct(
        by error: SIMD3<Double>, along x: SIMD3<Double>, _ y: SIMD3<Double>, _ z: SIMD3<Double>,
        weights: SIMD3<Double>
    ) {
        // The limit also bounds the effect of the first inclination correction, which may be large.
        let limit = SIMD3(repeating: maxBias)
        let clipped = error.clamped(lowerBound: -limit, upperBound: limit)
        let (px, py, pz) = (covariance * x, covariance * y, covariance * z)
        let inverse = SymmetricMatrix(
            xx: weights.x + dot(x, px), xy: dot(x, py), xz: dot(x, pz), yy: weights.y + dot(y, py), yz: dot(y, pz),
            zz: weights.z + dot(z, pz)
        ).inverse
        let solved = inverse * clipped
        bias = (bias + px * solved.x + py * solved.y + pz * solved.z)
            .clamped(lowerBound: -limit, upperBound: limit)
        // P - G S⁻¹ Gᵀ with the columns of G: px, py, pz.
        let gx = px * inverse.xx + py * inverse.xy + pz * inverse.xz
        let gy = px * inverse.xy + py * inverse.yy + pz * inverse.yz
        let gz = px * inverse.xz + py * inverse.yz + pz * inverse.zz
        covariance.xx -= gx.x * px.x + gy.x * py.x + gz.x * pz.x
        covariance.xy -= gx.x * px.y + gy.x * py.y + gz.x * pz.y
        covariance.xz -= gx.x * px.z + gy.x * py.z + gz.x * pz.z
        covariance.yy -= gx.y * px.y + gy.y * py.y + gz.y * pz.y
        covariance.yz -= gx.y * px.z + gy.y * py.z + gz.y * pz.z
        covariance.zz -= gx.z * px.z + gy.z * py.z + gz.z * pz.z
    }
}

@inline(__always)
private func axis(_ row: SIMD4<Double>) -> SIMD3<Double> { SIMD3(row.x, row.y, row.z) }
