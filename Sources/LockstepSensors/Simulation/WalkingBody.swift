import Glibc
package import LockstepMotion

/// A walking body with known ground truth: its position, attitude and step count at any time.
///
/// It alternates between standing and walking along a circle. The motion is a closed formula that is twice continuously
/// differentiable, so the sensor readings (`WalkingBody+sensors.swift`) agree with the ground truth. Times are in s
/// since the start; vectors of the earth are east, north, up.
package struct WalkingBody: Sendable, Hashable {
    /// The seed of the noise.
    package let seed: UInt64
    /// The person, the place, and how the device is carried.
    package let person: WalkingPerson
    /// The cycle of standing and walking.
    package let pace: WalkingPace

    /// Creates the body of a seed: equal seeds have the same person, place, motion and noise.
    package init(seed: UInt64) { self.init(seed: seed, person: WalkingPerson(seed: seed)) }

    package init(seed: UInt64, person: WalkingPerson) {
        self.seed = seed
        self.person = person
        pace = WalkingPace(cadence: person.cadence)
    }

    /// Returns the number of whole steps since the start.
    package func steps(at time: Double) -> Int {
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
        person.stepLength * person.cadence * pace.envelope(pace.split(time).time)
    }

    /// Returns the course over ground in rad clockwise from north, 0…2π.
    package func course(at time: Double) -> Double {
        let (cycle, local) = pace.split(time)
        return course(cycle: cycle, local: local)
    }

    /// Returns the position of the device in m east, north and up of the start, including the bobbing and swaying of
    /// the steps.
    package func position(at time: Double) -> SIMD3<Double> {
        let (cycle, local) = pace.split(time)
        return position(cycle: cycle, local: local)
    }

    /// Returns the attitude: the rotation from the device axes (x right, y top edge, z out of the screen) to the earth
    /// (east, north, up).
    package func attitude(at time: Double) -> Quaternion {
        let (cycle, local) = pace.split(time)
        return attitude(cycle: cycle, local: local)
    }
}

extension WalkingBody {
    func course(cycle: Int, local: Double) -> Double {
        let radiansPerStep = person.stepLength / person.radius
        let start = person.startCourse + Double(cycle * pace.stepsPerCycle) * radiansPerStep
        return (start + pace.phase(local) * radiansPerStep).truncatingRemainder(dividingBy: 2 * .pi)
    }

    func position(cycle: Int, local: Double) -> SIMD3<Double> {
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
        let envelope = pace.envelope(local)
        let phase = pace.phase(local)
        let wobble =
            envelope * person.wobble * SIMD3(sin(2 * .pi * phase + 0.6), sin(.pi * phase + 1.1), sin(.pi * phase))
        let heading = Quaternion(angle: wobble.z - course(cycle: cycle, local: local), axis: SIMD3(0, 0, 1))
        return heading * Quaternion(angle: person.pitch + wobble.x, axis: SIMD3(1, 0, 0))
            * Quaternion(angle: person.roll + wobble.y, axis: SIMD3(0, 1, 0))
    }
}
