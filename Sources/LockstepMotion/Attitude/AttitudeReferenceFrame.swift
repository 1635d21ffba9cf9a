import LockstepModel

/// What an attitude is measured against. In all frames the z axis points up, away from the earth.
public enum AttitudeReferenceFrame: String, Sendable, Hashable, CaseIterable, Codable {
    /// The heading is what it happened to be at the start, and drifts with the gyroscope.
    case arbitrary
    /// The heading is what it happened to be at the start; the magnetometer keeps it from drifting.
    case arbitraryCorrected
    /// x points east and y to magnetic north, as on Android, in ROS and on the web. Core Motion's x axis points north:
    /// ``Attitude/withXNorth``.
    case magneticNorth
    /// x points east and y to true north. Needs the declination of the place.
    case trueNorth

    /// Its value in the column `frame` of `motion/device`.
    public var code: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// The frame of a value in the column `frame`; nil where there is none.
    public init?(code: Double) {
        guard let index = Int(exactly: code), Self.allCases.indices.contains(index) else { return nil }
        self = Self.allCases[index]
    }
}
