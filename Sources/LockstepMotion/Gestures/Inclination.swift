import Glibc

/// The inclination of a device relative to the horizontal, as on a spirit level, from the direction of gravity.
///
/// All angles use `atan2`, which is exact for small angles; an arc cosine would lose half of the digits near level.
public struct Inclination: Sendable, Hashable {
    /// The angle between the device's z axis and the vertical in rad, 0…π: 0 face up, π/2 upright, π face down.
    public let angle: Double
    /// The angle of the y axis (the top edge) above the horizontal in rad, −π/2…π/2. For a device rotated from level
    /// about its x axis only, this is the right-handed angle of rotation.
    public let aboutX: Double
    /// The angle of the x axis (the right edge) below the horizontal in rad, −π/2…π/2. For a device rotated from level
    /// about its y axis only, this is the right-handed angle of rotation.
    public let aboutY: Double

    /// Creates the inclination from the direction of gravity in the device's axes, (0, 0, −1) face up; nil if the
    /// vector is zero or not finite. Its length is irrelevant.
    public init?(gravity: SIMD3<Double>) {
        let size = length(gravity)
        guard size > 0, size.isFinite else { return nil }
        angle = atan2(hypot(gravity.x, gravity.y), -gravity.z)
        aboutX = atan2(-gravity.y, hypot(gravity.x, gravity.z))
        aboutY = atan2(gravity.x, hypot(gravity.y, gravity.z))
    }
}
