/// A rotation as a matrix: `m{i}{j}` is the element in row `i` and column `j`. The columns are the device's axes in the
/// reference frame.
public struct RotationMatrix: Sendable, Hashable {
    /// The first row.
    public var m11, m12, m13: Double
    /// The second row.
    public var m21, m22, m23: Double
    /// The third row.
    public var m31, m32, m33: Double

    /// Creates the matrix of the rotation of a unit quaternion.
    public init(_ rotation: Quaternion) {
        let x = rotation.rotate(SIMD3(1, 0, 0))
        let y = rotation.rotate(SIMD3(0, 1, 0))
        let z = rotation.rotate(SIMD3(0, 0, 1))
        (m11, m12, m13) = (x.x, y.x, z.x)
        (m21, m22, m23) = (x.y, y.y, z.y)
        (m31, m32, m33) = (x.z, y.z, z.z)
    }

    /// Returns `vector` rotated by this matrix.
    public func rotate(_ vector: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3(
            m11 * vector.x + m12 * vector.y + m13 * vector.z,
            m21 * vector.x + m22 * vector.y + m23 * vector.z,
            m31 * vector.x + m32 * vector.y + m33 * vector.z)
    }
}
