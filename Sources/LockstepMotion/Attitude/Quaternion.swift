import Glibc

/// A rotation as a unit quaternion, scalar first.
public struct Quaternion: Sendable, Hashable {
    /// The scalar component w.
    public var scalar: Double
    /// The vector components x, y and z.
    public var vector: SIMD3<Double>

    /// Creates a quaternion from its components.
    public init(scalar: Double, vector: SIMD3<Double>) {
        self.scalar = scalar
        self.vector = vector
    }

    /// Creates the right-handed rotation by `angle` in rad about the unit vector `axis`.
    public init(angle: Double, axis: SIMD3<Double>) {
        self.init(scalar: cos(angle / 2), vector: sin(angle / 2) * axis)
    }

    /// Creates the rotation about the direction of `rotation` by its length in rad.
    public init(rotation: SIMD3<Double>) {
        let angle = length(rotation)
        self.init(angle: angle, axis: angle > 0 ? rotation / angle : SIMD3(0, 0, 1))
    }

    /// The inverse rotation.
    public var inverse: Quaternion { Quaternion(scalar: scalar, vector: -vector) }

    /// The rotation as its axis multiplied by its angle, 0…π rad.
    public var rotationVector: SIMD3<Double> {
        let sine = length(vector)
        guard sine > 0 else { return SIMD3(0, 0, 0) }
        // Both signs describe the same rotation; a non-negative scalar gives the shorter angle.
        let sign: Double = scalar < 0 ? -1 : 1
        return vector * (sign * 2 * atan2(sine, abs(scalar)) / sine)
    }

    /// The same rotation, scaled to length 1.
    @inline(__always)
    package var normalized: Quaternion {
        let scale = 1 / (scalar * scalar + dot(vector, vector)).squareRoot()
        return Quaternion(scalar: scalar * scale, vector: vector * scale)
    }

    /// Returns the rotation that applies `right` first and then `left`.
    @inline(__always)
    public static func * (left: Quaternion, right: Quaternion) -> Quaternion {
        Quaternion(
            scalar: left.scalar * right.scalar - dot(left.vector, right.vector),
            vector: left.scalar * right.vector + right.scalar * left.vector + cross(left.vector, right.vector))
    }

    /// Returns `other` rotated by this rotation.
    @inline(__always)
    public func rotate(_ other: SIMD3<Double>) -> SIMD3<Double> {
        let doubled = 2 * cross(vector, other)
        return other + scalar * doubled + cross(vector, doubled)
    }
}

@inline(__always)
package func dot(_ left: SIMD3<Double>, _ right: SIMD3<Double>) -> Double {
    left.x * right.x + left.y * right.y + left.z * right.z
}

/// Returns the Euclidean length.
@inline(__always)
package func length(_ vector: SIMD3<Double>) -> Double { dot(vector, vector).squareRoot() }

@inline(__always)
package func cross(_ left: SIMD3<Double>, _ right: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3(
        left.y * right.z - left.z * right.y,
        left.z * right.x - left.x * right.z,
        left.x * right.y - left.y * right.x)
}
