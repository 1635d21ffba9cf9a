import Glibc

/// A place on the earth, WGS 84.
public struct Coordinate: Sendable, Hashable {
    /// Degrees, north positive.
    public var latitude: Double
    /// Degrees, east positive.
    public var longitude: Double

    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Whether it is a place at all: latitude within ±90°, longitude within ±180°.
    public var isValid: Bool { abs(latitude) <= 90 && abs(longitude) <= 180 }

    private static let equatorialRadius = 6_378_137.0
    private static let flattening = 1 / 298.257223563

    /// The distance along the ellipsoid, in m: Lambert's formula (W. D. Lambert 1942), exact to a few metres in
    /// thousands of kilometres, with the central angle by haversines (R. W. Sinnott 1984), which keep their digits for
    /// places close together. Places almost opposite each other are up to 20 km off.
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

    /// The latitude on the sphere that the ellipsoid is pressed from, in rad.
    private var reducedLatitude: Double { atan((1 - Self.flattening) * tan(latitude * .pi / 180)) }
}

private func square(_ value: Double) -> Double { value * value }
