import Glibc

/// How far a device is off level: the angles of a spirit level, from the direction of gravity.
///
/// All are from `atan2`, which keeps every digit of a small angle; an arc cosine would lose half of them near level.
public struct Inclination: Sendable, Hashable {
    /// The angle between the device's z axis and the vertical, in rad, 0…π: 0 flat on its back, π/2 upright, π on its
    /// face.
    public let angle: Double
    /// How far the y axis (the top edge) is above the horizontal, in rad, −π/2…π/2. Of a device that was level and
    /// turned about its x axis only, this is the angle, right-handed.
    public let aboutX: Double
    /// How far the x axis (the right edge) is below the horizontal, in rad, −π/2…π/2. Of a device that was level and
    /// turned about its y axis only, this is the angle, right-handed.
    public let aboutY: Double

    /// The inclination where gravity has this direction in the device's axes, (0, 0, -1) face up; nil for a vector that
    /// is zero or not finite. Its length does not matter.
    public init?(gravity: SIMD3<Double>) {
        let size = length(gravity)
        guard size > 0, size.isFinite else { return nil }
        angle = atan2(hypot(gravity.x, gravity.y), -gravity.z)
        aboutX = atan2(-gravity.y, hypot(gravity.x, gravity.z))
        aboutY = atan2(gravity.x, hypot(gravity.y, gravity.z))
    }
}
