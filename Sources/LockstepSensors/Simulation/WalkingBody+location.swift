import Glibc
import LockstepMotion

// The fixes of a satellite receiver on the body.
extension WalkingBody {
    /// The stated horizontal accuracy of fixes in m (95 % confidence).
    package static let horizontalAccuracy = 5.0
    /// The stated vertical accuracy of fixes in m (95 % confidence).
    package static let verticalAccuracy = 8.0

    /// Returns the position on the earth, WGS 84: degrees north and east, m above mean sea level.
    package func geodetic(at time: Double) -> (latitude: Double, longitude: Double, altitude: Double) {
        geodetic(offset: position(at: time))
    }

    /// Returns the values of fix `index` at `time` s, in the order of the columns of the `location` stream.
    ///
    /// The course is unknown while the body stands. The receiver's own time is always unknown.
    package func fix(at time: Double, index: Int64) -> [Double] {
        let error = noise(lane: 4, index: index)
        let motion = noise(lane: 5, index: index)
        // 95 % of a two-dimensional normal distribution are within 2.448 standard deviations, and of a one-dimensional
        // one within 1.960.
        let horizontal = Self.horizontalAccuracy / 2.448
        let vertical = Self.verticalAccuracy / 1.960
        let place = geodetic(offset: position(at: time) + error * SIMD3(horizontal, horizontal, vertical))
        let speed = max(0, self.speed(at: time) + 0.05 * motion.x)
        let course = compassDegrees(self.course(at: time) * 180 / .pi + 2 * motion.y, decimals: 1)
        return [
            resolved(place.latitude, decimals: 7), resolved(place.longitude, decimals: 7),
            resolved(place.altitude, decimals: 2), Self.horizontalAccuracy, Self.verticalAccuracy,
            resolved(speed, decimals: 2), self.speed(at: time) > 0.3 ? course : .nan, 3, .nan,
        ]
    }

    /// Returns the position `offset` m east, north and up of the start, on the tangent plane of the ellipsoid. Within
    /// the few hundred metres of a walk the error is in the order of centimetres.
    private func geodetic(offset: SIMD3<Double>) -> (latitude: Double, longitude: Double, altitude: Double) {
        let majorAxis = 6_378_137.0
        let eccentricitySquared = 0.006_694_379_990_14
        let sine = sin(person.latitude * .pi / 180)
        let root = (1 - eccentricitySquared * sine * sine).squareRoot()
        let meridian = majorAxis * (1 - eccentricitySquared) / (root * root * root)
        let parallel = majorAxis / root * cos(person.latitude * .pi / 180)
        return (
            person.latitude + offset.y / meridian * 180 / .pi,
            person.longitude + offset.x / parallel * 180 / .pi,
            person.altitude + offset.z
        )
    }
}
