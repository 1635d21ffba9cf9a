import Glibc

/// The error of attitudes against a reference: the root mean square of the angle between them, and of its inclination,
/// the part that is not about the vertical. The constant offset between the headings of the two frames is removed.
public struct AttitudeError: Sendable, Hashable {
    /// The root mean square of the whole angle, in rad.
    public let total: Double
    /// The root mean square of the inclination error, in rad.
    public let inclination: Double
    /// The rotation about the vertical from the reference's frame to that of the attitudes, in rad.
    public let headingOffset: Double
    /// The number of attitudes compared.
    public let count: Int

    /// Compares attitudes with a reference.
    ///
    /// - Parameter pairs: attitudes with their references, each from the device to an earth frame with the z axis up.
    /// - Returns: nil if there are no pairs.
    public init?(_ pairs: [(estimate: Quaternion, reference: Quaternion)]) {
        guard !pairs.isEmpty else { return nil }
        let errors = pairs.map { $0.estimate * $0.reference.inverse }
        // The circular mean of the heading errors. The heading of an error is twice the angle of (w, z).
        var (cosines, sines) = (0.0, 0.0)
        for error in errors {
            cosines += error.scalar * error.scalar - error.vector.z * error.vector.z
            sines += 2 * error.scalar * error.vector.z
        }
        let offset = atan2(sines, cosines)
        let (total, inclination) = errors.reduce(into: (0.0, 0.0)) { sums, error in
            let aligned = VQF.rotatedAboutVertical(error, by: -offset)
            let angle = length(aligned.rotationVector)
            let upright = hypot(aligned.scalar, aligned.vector.z)
            let tilt = 2 * atan2(hypot(aligned.vector.x, aligned.vector.y), upright)
            sums.0 += angle * angle
            sums.1 += tilt * tilt
        }
        let count = Double(errors.count)
        self.total = (total / count).squareRoot()
        self.inclination = (inclination / count).squareRoot()
        headingOffset = offset
        self.count = errors.count
    }
}
