import Glibc

/// The attitude of a device: the rotation from the device's axes to a reference frame.
public struct Attitude: Sendable, Hashable {
    /// The rotation from the device's axes to the reference frame, of length 1.
    public var quaternion: Quaternion

    /// Creates an attitude from a quaternion.
    ///
    /// - Parameter quaternion: the rotation from the device's axes to the reference frame, of length 1.
    public init(quaternion: Quaternion) { self.quaternion = quaternion }

    /// The rotation from the device's axes to the reference frame as a matrix.
    public var rotationMatrix: RotationMatrix { RotationMatrix(quaternion) }

    /// The rotation about the device's y axis in rad, −π…π. A phone whose right edge goes down rolls by a positive
    /// angle.
    ///
    /// An attitude is composed of a rotation by ``yaw`` about the vertical, then by ``pitch`` about the device's
    /// rotated x axis, then by ``roll`` about its rotated y axis. At a pitch of ±π/2 the axes of roll and yaw coincide;
    /// the whole rotation is then reported as yaw.
    public var roll: Double {
        let matrix = rotationMatrix
        return Self.isUpright(matrix) ? 0 : atan2(-matrix.m31, matrix.m33)
    }

    /// The rotation about the device's x axis in rad, −π/2…π/2. A phone whose top edge goes up pitches by a positive
    /// angle.
    public var pitch: Double { asin(min(1, max(-1, rotationMatrix.m32))) }

    /// The rotation about the vertical in rad, −π…π, counterclockwise seen from above. In frames of the earth it is 0
    /// if the device's y axis points north.
    public var yaw: Double {
        let matrix = rotationMatrix
        return Self.isUpright(matrix) ? atan2(matrix.m21, matrix.m11) : atan2(-matrix.m12, matrix.m22)
    }

    /// Returns the rotation from `other` to this attitude, in the device's axes at `other`.
    public func multiplied(byInverseOf other: Attitude) -> Attitude {
        Attitude(quaternion: other.quaternion.inverse * quaternion)
    }

    /// Replaces this attitude with the rotation from `other` to it; see ``multiplied(byInverseOf:)``.
    public mutating func multiply(byInverseOf other: Attitude) { self = multiplied(byInverseOf: other) }

    /// The attitude relative to a frame whose x axis points north instead of east: Core Motion's
    /// `xMagneticNorthZVertical` and `xTrueNorthZVertical`.
    public var withXNorth: Attitude { Attitude(quaternion: VQF.rotatedAboutVertical(quaternion, by: -.pi / 2)) }

    /// Whether the device's y axis is so close to the vertical that roll and yaw are indistinguishable.
    private static func isUpright(_ matrix: RotationMatrix) -> Bool { abs(matrix.m32) > 1 - 1e-12 }
}
