import Glibc

/// A rotation as a unit quaternion, scalar first.
package struct Quaternion: Sendable, Hashable {
    package var scalar: Double
    package var vector: SIMD3<Double>

    package init(scalar: Double, vector: SIMD3<Double>) {
        self.scalar = scalar
        self.vector = vector
    }

    /// The rotation by `angle` rad about the unit vector `axis`, right-handed.
    package init(angle: Double, axis: SIMD3<Double>) {
        self.init(scalar: cos(angle / 2), vector: sin(angle / 2) * axis)
    }

    /// The rotation by the length of `rotation` in rad, about its direction.
    package init(rotation: SIMD3<Double>) {
        let angle = length(rotation)
        self.init(angle: angle, axis: angle > 0 ? rotation / angle : SIMD3(0, 0, 1))
    }

    /// The rotation back.
    package var inverse: Quaternion { Quaternion(scalar: scalar, vector: -vector) }

    /// The rotation as an axis times an angle of 0…π rad.
    package var rotationVector: SIMD3<Double> {
        let sine = length(vector)
        guard sine > 0 else { return SIMD3(0, 0, 0) }
        // The quaternion of the same rotation with a positive scalar: the shorter way round.
        let sign: Double = scalar < 0 ? -1 : 1
        return vector * (sign * 2 * atan2(sine, abs(scalar)) / sine)
    }

    /// First `right`, then `left`.
    package static func * (left: Quaternion, right: Quaternion) -> Quaternion {
        Quaternion(
            scalar: left.scalar * right.scalar - dot(left.vector, right.vector),
            vector: left.scalar * right.vector + right.scalar * left.vector + cross(left.vector, right.vector))
    }

    /// `vector` turned by this rotation.
    package func rotate(_ other: SIMD3<Double>) -> SIMD3<Double> {
        let doubled = 2 * cross(vector, other)
        return other + scalar * doubled + cross(vector, doubled)
    }
}

package func dot(_ left: SIMD3<Double>, _ right: SIMD3<Double>) -> Double { (left * right).sum() }

package func length(_ vector: SIMD3<Double>) -> Double { dot(vector, vector).squareRoot() }

package func cross(_ left: SIMD3<Double>, _ right: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3(
        left.y * right.z - left.z * right.y,
        left.z * right.x - left.x * right.z,
        left.x * right.y - left.y * right.x)
}
