import Glibc

/// Fits an ellipsoid to magnetometer readings. Its centre is the device's own field (hard iron). Its axes describe the
/// distortion of the earth's field by soft magnetic material (soft iron) and by unequal sensitivities.
///
/// The usual linear least-squares fit of a quadric, as in Q. Li, J. G. Griffiths: Least squares ellipsoid specific
/// fitting. Geometric Modeling and Processing 2004, 335–340, and Y. Petrov: ellipsoid_fit (2009): the unknowns of
///
/// x² + y² + z² = u₀ (x² + y² − 2z²) + u₁ (x² + z² − 2y²) + 2 (u₂ xy + u₃ xz + u₄ yz + u₅ x + u₆ y + u₇ z) + u₈
///
/// are the solution of normal equations, whose sums decay exponentially. The first five are 0 for a sphere; a small
/// ridge keeps them there unless the readings require other values. A quadric that is not an ellipsoid is discarded.
/// Unlike ``HardIronEstimator``, the fit does not use the attitude and so needs no gyroscope, but it needs readings in
/// most directions.
struct EllipsoidFit: Sendable {
    struct Result: Sendable, Hashable {
        /// The centre: the device's own field, in µT.
        var center: SIMD3<Double>
        /// The correction of a reading relative to the centre, of determinant 1.
        var correction: SymmetricMatrix
        /// The mean radius: the strength of the earth's field, in µT.
        var radius: Double
        /// The root mean square distance of the readings from the ellipsoid, in µT.
        var residual: Double
        /// The root mean square distance of the readings from the best sphere, in µT.
        var sphereResidual: Double
        /// The ratio of the longest to the shortest axis.
        var axisRatio: Double
    }

    /// The unit of the sums in µT, so that all of them have a similar magnitude.
    private static let scale = 50.0
    /// The time constant of the sums, in readings.
    private static let memory = 400.0
    /// The ridge of the five deviations from a sphere: it corresponds to a prior standard deviation of about 10 %.
    private static let ridge = 0.05
    private static let deviations = 0..<5

    private var equations = NormalEquations(count: 9)
    /// The first reading in µT: the origin of the sums.
    private var origin: SIMD3<Double>?

    /// The effective number of readings in the sums.
    var weight: Double { equations.weight }

    /// Adds a reading, in µT.
    mutating func add(_ reading: SIMD3<Double>) {
        let origin = origin ?? reading
        self.origin = origin
        let value = (reading - origin) / Self.scale
        let (x, y, z) = (value.x, value.y, value.z)
        equations.fade(by: 1 - 1 / Self.memory)
        equations.add(
            [
                x * x + y * y - 2 * z * z, x * x + z * z - 2 * y * y, 2 * x * y, 2 * x * z, 2 * y * z, 2 * x, 2 * y,
                2 * z, 1,
            ], target: dot(value, value))
    }

    /// The ellipsoid of the readings; nil if they do not determine one.
    var result: Result? {
        guard let origin, let (u, meanSquare) = equations.solution(of: 0..<9, ridge: ridge),
            let sphere = equations.solution(of: 5..<9, ridge: { _ in 0 })
        else { return nil }
        // (m − c)ᵀ A (m − c) = k, with the trace of A equal to 3.
        let form = SymmetricMatrix(
            xx: 1 - u[0] - u[1], xy: -u[2], xz: -u[3], yy: 1 - u[0] + 2 * u[1], yz: -u[4], zz: 1 + 2 * u[0] - u[1])
        var system = form.eigensystem
        let values = system.values
        guard values.min() > 0.05 else { return nil }
        let linear = SIMD3(u[5], u[6], u[7])
        let center = form.inverse * linear
        let level = u[8] + dot(center, linear)
        let sphereLevel =
            sphere.values[8]
            + dot(
                SIMD3(sphere.values[5], sphere.values[6], sphere.values[7]),
                SIMD3(sphere.values[5], sphere.values[6], sphere.values[7]))
        guard level > 0, sphereLevel > 0 else { return nil }
        let unit = cbrt(values.x * values.y * values.z)
        let radius = (level / unit).squareRoot()
        system.values = SIMD3(
            (values.x / unit).squareRoot(), (values.y / unit).squareRoot(), (values.z / unit).squareRoot())
        return Result(
            center: origin + Self.scale * center, correction: SymmetricMatrix(system), radius: Self.scale * radius,
            // The residual of the equation is that of the squared radius.
            residual: Self.scale * meanSquare.squareRoot() / (2 * radius * unit),
            sphereResidual: Self.scale * sphere.meanSquare.squareRoot() / (2 * sphereLevel.squareRoot()),
            axisRatio: (values.max() / values.min()).squareRoot())
    }

    private func ridge(_ unknown: Int) -> Double { Self.deviations.contains(unknown) ? Self.ridge : 0 }
}
