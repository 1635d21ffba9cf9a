import Glibc

/// A plane on which positions near an origin are in m east and north, by the radii of curvature of the ellipsoid WGS 84
/// there. The conversion back is exact; far from the origin only the scale of distances changes.
struct LocalPlane: Sendable {
    let origin: Coordinate
    /// m per radian of latitude, and of longitude.
    let meridian: Double
    let parallel: Double

    init(origin: Coordinate) {
        self.origin = origin
        let sine = sin(origin.latitude * .pi / 180)
        let root = (1 - 0.006_694_379_990_14 * sine * sine).squareRoot()
        meridian = 6_378_137 * (1 - 0.006_694_379_990_14) / (root * root * root)
        // At a pole all longitudes are the same place.
        parallel = max(6_378_137 / root * cos(origin.latitude * .pi / 180), 1)
    }

    /// Returns m east and north of the origin.
    func position(of place: Coordinate) -> (east: Double, north: Double) {
        var longitude = place.longitude - origin.longitude
        // The short way across the antimeridian.
        if longitude > 180 { longitude -= 360 }
        if longitude < -180 { longitude += 360 }
        return (longitude * .pi / 180 * parallel, (place.latitude - origin.latitude) * .pi / 180 * meridian)
    }

    /// Returns the place so many m east and north of the origin.
    func place(east: Double, north: Double) -> Coordinate {
        var longitude = origin.longitude + east / parallel * 180 / .pi
        if longitude > 180 { longitude -= 360 }
        if longitude < -180 { longitude += 360 }
        let latitude = origin.latitude + north / meridian * 180 / .pi
        return Coordinate(latitude: min(max(latitude, -90), 90), longitude: longitude)
    }
}
