import Glibc
import LockstepMotion

/// A satellite receiver on the body.
extension WalkingBody {
    /// Accuracy that its fixes state, in m: 95 % of them are at most this far off.
    package static let horizontalAccuracy = 5.0
    package static let verticalAccuracy = 8.0

    /// Where the body is on the earth, WGS 84: degrees north and east, m above mean sea level.
    package func geodetic(at time: Double) -> (latitude: Double, longitude: Double, altitude: Double) {
        geodetic(offset: position(at: time))
    }

    /// Fix `index`, taken at `time` s: the values of the `location` stream, in the order of its columns.
    ///
    /// The course is not known while the body stands; the receiver's own time is not known at all.
    package func fix(at time: Double, index: Int64) -> [Double] {
        let error = noise(lane: 4, index: index)
        let motion = noise(lane: 5, index: index)
        // 95 % of a two-dimensional normal distribution lie within 2.448 standard deviations, of a one-dimensional
        // one within 1.960.
        let horizontal = Self.horizontalAccuracy / 2.448
        let vertical = Self.verticalAccuracy / 1.960
        let place = geodetic(offset: position(at: time) + error * SIMD3(horizontal, horizontal, vertical))
        let speed = max(0, self.speed(at: time) + 0.05 * motion.x)
        let course = (self.course(at: time) * 180 / .pi + 2 * motion.y + 360).truncatingRemainder(dividingBy: 360)
        return [
            resolved(place.latitude, decimals: 7), resolved(place.longitude, decimals: 7),
            resolved(place.altitude, decimals: 2), Self.horizontalAccuracy, Self.verticalAccuracy,
            resolved(speed, decimals: 2), self.speed(at: time) > 0.3 ? resolved(course, decimals: 1) : .nan, 3, .nan,
        ]
    }

    /// The place `offset` m east, north and up of the start, on the plane that touches the ellipsoid there: over the
    /// few hundred metres of a walk it is right to centimetres.
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
