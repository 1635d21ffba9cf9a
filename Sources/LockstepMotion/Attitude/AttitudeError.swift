import Glibc

/// How far attitudes are from those of a reference: the root mean square of the angle between them, and of the part of
/// it that is not about the vertical. The constant angle between the headings of the two frames is taken away.
public struct AttitudeError: Sendable, Hashable {
    /// rad.
    public let total: Double
    /// rad: how far what is up is off.
    public let inclination: Double
    /// rad, about the vertical, from the reference's frame to that of the attitudes.
    public let headingOffset: Double
    /// How many attitudes were compared.
    public let count: Int

    /// - Parameter pairs: an attitude and its reference, each device to earth with the z axis up.
    /// - Returns: nil for no pairs.
    public init?(_ pairs: [(estimate: Quaternion, reference: Quaternion)]) {
        guard !pairs.isEmpty else { return nil }
        let errors = pairs.map { $0.estimate * $0.reference.inverse }
        // The mean of angles as that of points on the circle: the heading of an error is twice the angle of (w, z).
        var (cosines, sines) = (0.0, 0.0)
        for error in errors {
            cosines += error.scalar * error.scalar - error.vector.z * error.vector.z
            sines += 2 * error.scalar * error.vector.z
        }
        let offset = atan2(sines, cosines)
        let (total, inclination) = errors.reduce(into: (0.0, 0.0)) { sums, error in
            let aligned = VQF.turned(error, by: -offset)
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
