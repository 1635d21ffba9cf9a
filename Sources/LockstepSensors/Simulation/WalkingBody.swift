import Glibc
package import LockstepMotion

/// A walking body with known ground truth: its position, attitude and step count at any time.
///
/// It alternates between standing and walking along a circle. The motion is a closed formula that is twice continuously
/// differentiable, so the sensor readings agree with the ground truth. Times are in s
/// since the start; vectors of the earth are east, north, up.
package struct WalkingBody: Sendable, Hashable {
    /// The seed of the noise.
    package let seed: UInt64
    /// The person, the place, and how the device is carried.
    package let person: WalkingPerson
    /// What the person does.
    package let motion: SimulatedMotion
    /// The cycle of standing and walking.
    package let pace: WalkingPace

    /// Creates the body of a seed: equal seeds have the same person, place, motion and noise.
    package init(seed: UInt64, motion: SimulatedMotion = .walk) {
        self.init(seed: seed, person: WalkingPerson(seed: seed), motion: motion)
    }

    package init(seed: UInt64, person: WalkingPerson, motion: SimulatedMotion = .walk) {
        self.seed = seed
        self.person = person
        self.motion = motion
        pace = WalkingPace(cadence: person.cadence)
    }

    /// Returns the number of whole steps since the start.
    package func steps(at time: Double) -> Int {
        guard motion == .walk else { return 0 }
        let (cycle, local) = pace.split(time)
        // The 1e-9 compensates for rounding errors, which could drop the last step of a walk.
        return cycle * pace.stepsPerCycle + Int((pace.phase(local) + 1e-9).rounded(.down))
    }

    /// Returns the distance walked along the circle since the start, in m.
    package func distance(at time: Double) -> Double {
        let (cycle, local) = pace.split(time)
        return person.stepLength * (Double(cycle * pace.stepsPerCycle) + pace.phase(local))
    }

    /// Returns the speed along the circle, in m/s.
    package func speed(at time: Double) -> Double {
        let local = split(time).time
        switch motion {
        case .walk: return person.stepLength * person.cadence * pace.envelope(local)
        case .drive: return Drive.speed * Drive.envelope(local)
        case .shake, .turn, .fall: return 0
        }
    }

    /// Returns the course over ground in rad clockwise from north, 0…2π.
    package func course(at time: Double) -> Double {
        let (cycle, local) = split(time)
        return course(cycle: cycle, local: local)
    }

    /// Returns the position of the device in m east, north and up of the start, including the bobbing and swaying of
    /// the steps.
    package func position(at time: Double) -> SIMD3<Double> {
        let (cycle, local) = split(time)
        return position(cycle: cycle, local: local)
    }

    /// Returns the attitude: the rotation from the device axes (x right, y top edge, z out of the screen) to the earth
    /// (east, north, up).
    package func attitude(at time: Double) -> Quaternion {
        let (cycle, local) = split(time)
        return attitude(cycle: cycle, local: local)
    }
}

extension WalkingBody {
    /// Returns the number of complete cycles before `time`, and the time within the current one, in s.
    func split(_ time: Double) -> (cycle: Int, time: Double) {
        motion == .walk ? pace.split(time) : motion.split(time)
    }

    func course(cycle: Int, local: Double) -> Double {
        guard motion == .walk else {
            let distance = motion == .drive ? Double(cycle) * Drive.cycle + Drive.distance(local) : 0
            return (person.startCourse + distance / Drive.radius).truncatingRemainder(dividingBy: 2 * .pi)
        }
        let radiansPerStep = person.stepLength / person.radius
        let start = person.startCourse + Double(cycle * pace.stepsPerCycle) * radiansPerStep
        return (start + pace.phase(local) * radiansPerStep).truncatingRemainder(dividingBy: 2 * .pi)
    }

    func position(cycle: Int, local: Double) -> SIMD3<Double> {
        switch motion {
        case .walk: break
        case .shake: return SIMD3(SimulatedShake.position(local), 0, 0)
        case .turn: return .zero
        case .drive:
            let course = course(cycle: cycle, local: local)
            return SIMD3(
                Drive.radius * (cos(person.startCourse) - cos(course)),
                Drive.radius * (sin(course) - sin(person.startCourse)), Drive.vibration(local))
        case .fall: return SIMD3(0, 0, SimulatedFall.height(local))
        }
        let envelope = pace.envelope(local)
        let phase = pace.phase(local)
        let course = course(cycle: cycle, local: local)
        let sway = person.sway * envelope * sin(.pi * phase)
        // The centre of a clockwise circle is on the right, so swaying to the right reduces the radius.
        let radius = person.radius - sway
        return SIMD3(
            person.radius * cos(person.startCourse) - radius * cos(course),
            radius * sin(course) - person.radius * sin(person.startCourse),
            person.bob * envelope * -cos(2 * .pi * phase))
    }

    func attitude(cycle: Int, local: Double) -> Quaternion {
        let start = Quaternion(angle: -course(cycle: cycle, local: local), axis: SIMD3(0, 0, 1))
        let (pitch, roll) = (SIMD3<Double>(1, 0, 0), SIMD3<Double>(0, 1, 0))
        switch motion {
        case .walk: break
        case .turn:
            let angle = (Double(cycle % 4) + WalkingPace.smoothStep(local - 4)) * .pi / 2
            return start * Quaternion(angle: .pi / 2, axis: pitch) * Quaternion(angle: angle, axis: SIMD3(0, 0, 1))
        case .shake, .drive, .fall:
            let fallen = motion == .fall ? SimulatedFall.turn(local) * .pi / 2 : 0
            return start * Quaternion(angle: person.pitch + fallen, axis: pitch)
                * Quaternion(angle: person.roll, axis: roll)
        }
        let envelope = pace.envelope(local)
        let phase = pace.phase(local)
        let wobble =
            envelope * person.wobble * SIMD3(sin(2 * .pi * phase + 0.6), sin(.pi * phase + 1.1), sin(.pi * phase))
        let heading = Quaternion(angle: wobble.z - course(cycle: cycle, local: local), axis: SIMD3(0, 0, 1))
        return heading * Quaternion(angle: person.pitch + wobble.x, axis: SIMD3(1, 0, 0))
            * Quaternion(angle: person.roll + wobble.y, axis: SIMD3(0, 1, 0))
    }
}

// The barometer and the battery of the device on the body.
extension WalkingBody {
    /// The standard deviation of the barometer's noise, in hPa: about 0.2 m of altitude.
    package static let pressureNoise = 0.02

    /// Returns the air pressure of the standard atmosphere at the body's altitude, in hPa, without noise.
    package func pressure(at time: Double) -> Double { StandardAtmosphere.pressure(at: geodetic(at: time).altitude) }

    /// Returns reading `index` of the barometer at `time` s, in hPa.
    func pressure(at time: Double, index: Int64) -> Double {
        resolved(pressure(at: time) + Self.pressureNoise * noise(lane: 6, index: index).x, decimals: 3)
    }

    /// Returns the charge at `time` s: it falls from 80…100 % to 20 % by 1 % in five minutes, and rises again three
    /// times as fast.
    package func battery(at time: Double) -> BatteryReading {
        var generator = SeededGenerator(seed: seed, lane: 7)
        let low = 0.2
        let high = Double.random(in: 0.8...1, using: &generator)
        let discharging = (high - low) * 100 * 300
        let phase = time.truncatingRemainder(dividingBy: discharging * 4 / 3)
        let isCharging = phase >= discharging
        let level = isCharging ? low + (phase - discharging) / 10_000 : high - phase / 30_000
        return BatteryReading(level: (level * 100).rounded() / 100, state: isCharging ? .charging : .discharging)
    }
}

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

// The readings of sensors on the body.
//
// Derivatives are central differences over ±1 ms. For the fastest motion that a seed selects their error is below
// 0.001 m/s² and 0.0001 rad/s, well below the noise.
extension WalkingBody {
    /// Half the interval of the central differences, in s.
    private static let half = 0.001

    /// The standard deviation of the accelerometer's noise per axis, in g.
    package static let accelerometerNoise = 0.002
    /// The standard deviation of the gyroscope's noise per axis, in rad/s.
    package static let gyroscopeNoise = 0.002
    /// The standard deviation of the magnetometer's noise per axis, in µT.
    package static let magnetometerNoise = 0.3

    /// The number of decimals of a motion sensor's values, for a resolution well below its noise.
    package static let motionDecimals = 4

    /// Returns the acceleration of the device in m/s² east, north, up.
    package func acceleration(at time: Double) -> SIMD3<Double> {
        let (cycle, local) = split(time)
        let before = position(cycle: cycle, local: local - Self.half)
        let now = position(cycle: cycle, local: local)
        let after = position(cycle: cycle, local: local + Self.half)
        return (before - 2 * now + after) / (Self.half * Self.half)
    }

    /// Returns the accelerometer reading in g along the device axes: gravity minus acceleration, (0, 0, -1) at rest,
    /// face up.
    package func accelerometer(at time: Double) -> SIMD3<Double> {
        let specificForce = acceleration(at: time) + SIMD3(0, 0, standardGravity)
        return attitude(at: time).inverse.rotate(-specificForce / standardGravity)
    }

    /// Returns the rotation rate in rad/s about the device axes.
    package func rotationRate(at time: Double) -> SIMD3<Double> {
        let (cycle, local) = split(time)
        let before = attitude(cycle: cycle, local: local - Self.half)
        let after = attitude(cycle: cycle, local: local + Self.half)
        return (before.inverse * after).rotationVector / (2 * Self.half)
    }

    /// The earth's magnetic field in µT east, north, up: a dipole of 30 µT at the equator, rotated by the declination.
    package var earthField: SIMD3<Double> {
        let latitude = person.latitude * .pi / 180
        let horizontal = 30 * cos(latitude)
        return SIMD3(
            horizontal * sin(person.declination), horizontal * cos(person.declination), -60 * sin(latitude))
    }

    /// Returns the magnetometer reading in µT along the device axes.
    package func magnetometer(at time: Double) -> SIMD3<Double> { attitude(at: time).inverse.rotate(earthField) }

    /// Returns the noise of sample `index` with a standard deviation of 1 per axis; it depends only on the seed, `lane`
    /// and `index`.
    func noise(lane: UInt64, index: Int64) -> SIMD3<Double> {
        var generator = SeededGenerator(seed: seed, lane: lane, index: index)
        return generator.gaussianVector()
    }
}
