/// Who walks, where, and how the device is carried: what a seed chooses.
package struct WalkingPerson: Sendable, Hashable {
    /// Steps a second at full stride: 1.6…2.1.
    package var cadence: Double
    /// Length of a step in m: 0.6…0.8.
    package var stepLength: Double
    /// How far the body rises and falls with each step, in m from the middle.
    package var bob: Double
    /// How far it sways to the side with each pair of steps, in m from the middle.
    package var sway: Double
    /// Turning of the device while walking, about its x, y and z axis, in rad from the middle.
    package var wobble: SIMD3<Double>
    /// How the device is held: turned about its own x axis (top edge up) and then y axis, in rad. (0, 0) is face up.
    package var pitch: Double
    package var roll: Double
    /// Radius of the circle that is walked, in m, clockwise.
    package var radius: Double
    /// Course at the start, in rad clockwise from north.
    package var startCourse: Double
    /// Where the walk starts: ° north, ° east, m above mean sea level.
    package var latitude: Double
    package var longitude: Double
    package var altitude: Double
    /// Angle from true to magnetic north, in rad, east positive.
    package var declination: Double

    package init(seed: UInt64) {
        var generator = SeededGenerator(seed: seed, lane: 0)
        func draw(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &generator) }
        cadence = draw(1.6...2.1)
        stepLength = draw(0.6...0.8)
        bob = draw(0.018...0.03)
        sway = draw(0.01...0.02)
        wobble = SIMD3(draw(0.03...0.06), draw(0.02...0.05), draw(0.03...0.06))
        pitch = draw(0.1...0.7)
        roll = draw(-0.25...0.25)
        radius = draw(20...60)
        startCourse = draw(0...(2 * .pi))
        let park = Self.parks[Int.random(in: Self.parks.indices, using: &generator)]
        // A few hundred metres about the middle, so that a fleet does not walk in one spot.
        latitude = park.latitude + draw(-0.002...0.002)
        longitude = park.longitude + draw(-0.002...0.002)
        altitude = park.altitude
        declination = park.declination * .pi / 180
    }

    /// Places where walking in a circle surprises nobody, with the declination of the magnetic field in ° (WMM 2025,
    /// rounded).
    private static let parks: [(latitude: Double, longitude: Double, altitude: Double, declination: Double)] = [
        (48.1537, 11.5922, 515, 4), (51.5074, -0.1657, 30, 1), (40.7812, -73.9665, 40, -12.5),
        (35.7148, 139.7737, 20, -8), (-33.8642, 151.2166, 25, 13), (-34.5711, -58.4173, 15, -10),
        (37.7694, -122.4862, 75, 13), (1.3138, 103.8159, 20, 0.5),
    ]
}
