import LockstepModel

/// The reference frame of an attitude. In all frames the z axis points up, away from the earth.
public enum AttitudeReferenceFrame: String, Sendable, Hashable, CaseIterable, Codable {
    /// The heading at the start is arbitrary and drifts with the gyroscope's error.
    case arbitrary
    /// The heading at the start is arbitrary; the magnetometer prevents drift.
    case arbitraryCorrected
    /// x points east and y to magnetic north, as on Android, in ROS and on the web. For Core Motion's frame, whose x
    /// axis points north, use ``Attitude/withXNorth``.
    case magneticNorth
    /// x points east and y to true north. Requires the magnetic declination of the place, or a location.
    case trueNorth

    /// The value of the column `frame` of `motion/device`.
    public var code: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// Creates the frame from a value of the column `frame`; nil if the value is invalid.
    public init?(code: Double) {
        guard let index = Int(exactly: code), Self.allCases.indices.contains(index) else { return nil }
        self = Self.allCases[index]
    }
}
