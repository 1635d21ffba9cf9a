import Glibc

/// A position on the earth, WGS 84.
public struct Coordinate: Sendable, Hashable {
    /// The latitude in degrees, north positive.
    public var latitude: Double
    /// The longitude in degrees, east positive.
    public var longitude: Double

    /// Creates a coordinate from degrees.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Whether the latitude is within ±90° and the longitude within ±180°.
    public var isValid: Bool { abs(latitude) <= 90 && abs(longitude) <= 180 }

    private static let equatorialRadius = 6_378_137.0
    private static let flattening = 1 / 298.257223563

    /// Returns the distance to `other` along the ellipsoid, in m.
    ///
    /// Lambert's formula (W. D. Lambert 1942), accurate to a few metres in thousands of kilometres. The central angle
    /// is computed with haversines (R. W. Sinnott 1984), which are accurate for small distances. Antipodal positions
    /// may be off by up to 20 km.
    public func distance(to other: Coordinate) -> Double {
        let here = reducedLatitude
        let there = other.reducedLatitude
        let middle = (here + there) / 2
        let half = (there - here) / 2
        let halfLongitude = (other.longitude - longitude) * .pi / 360
        let haversine = square(sin(half)) + cos(here) * cos(there) * square(sin(halfLongitude))
        guard haversine > 0 else { return 0 }
        let angle = 2 * atan2(haversine.squareRoot(), max(0, 1 - haversine).squareRoot())
        guard haversine < 1 - 1e-9 else { return Self.equatorialRadius * angle }
        let outer = (angle - sin(angle)) * square(sin(middle) * cos(half)) / (1 - haversine)
        let inner = (angle + sin(angle)) * square(cos(middle) * sin(half)) / haversine
        return Self.equatorialRadius * (angle - Self.flattening / 2 * (outer + inner))
    }

    /// The reduced (parametric) latitude, in rad.
    private var reducedLatitude: Double { atan((1 - Self.flattening) * tan(latitude * .pi / 180)) }
}

private func square(_ value: Double) -> Double { value * value }
