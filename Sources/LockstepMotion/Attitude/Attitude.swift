import Glibc

/// How a device is turned: from its own axes to those of a reference frame.
public struct Attitude: Sendable, Hashable {
    /// Takes a vector of the device to the reference frame; of length 1.
    public var quaternion: Quaternion

    /// - Parameter quaternion: of length 1, device to reference frame.
    public init(quaternion: Quaternion) { self.quaternion = quaternion }

    public var rotationMatrix: RotationMatrix { RotationMatrix(quaternion) }

    /// The turn about the device's y axis, in rad, −π…π: a phone whose right edge goes down rolls by a positive angle.
    ///
    /// An attitude is made of a turn by ``yaw`` about the vertical, then by ``pitch`` about the device's x axis as it is
    /// then, and by ``roll`` about its y axis. Where the pitch is ±π/2, roll and yaw are about one axis; all of the turn
    /// is then told as yaw.
    public var roll: Double {
        let matrix = rotationMatrix
        return Self.isUpright(matrix) ? 0 : atan2(-matrix.m31, matrix.m33)
    }

    /// The turn about the device's x axis, in rad, −π/2…π/2: a phone whose top edge goes up pitches by a positive angle.
    public var pitch: Double { asin(min(1, max(-1, rotationMatrix.m32))) }

    /// The turn about the vertical, in rad, −π…π, counterclockwise as seen from above. In frames of the earth it is 0
    /// where the device's y axis points north.
    public var yaw: Double {
        let matrix = rotationMatrix
        return Self.isUpright(matrix) ? atan2(matrix.m21, matrix.m11) : atan2(-matrix.m12, matrix.m22)
    }

    /// The change of attitude since `other`, in the axes that the device had then: `other` followed by it is this.
    public func multiplied(byInverseOf other: Attitude) -> Attitude {
        Attitude(quaternion: other.quaternion.inverse * quaternion)
    }

    /// The change of attitude since `other`, put in its place; as ``multiplied(byInverseOf:)``.
    public mutating func multiply(byInverseOf other: Attitude) { self = multiplied(byInverseOf: other) }

    /// The same attitude seen from the frame turned by a right angle, so that an x axis that pointed east points north:
    /// what Core Motion calls `xMagneticNorthZVertical` and `xTrueNorthZVertical`.
    public var withXNorth: Attitude { Attitude(quaternion: VQF.turned(quaternion, by: -.pi / 2)) }

    /// Whether the device's y axis is so near the vertical that roll and yaw can't be told apart.
    private static func isUpright(_ matrix: RotationMatrix) -> Bool { abs(matrix.m32) > 1 - 1e-12 }
}
