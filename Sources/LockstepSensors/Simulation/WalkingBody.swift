import Glibc
package import LockstepMotion

/// A walking body with known truth: where it is, how it is turned and how many steps it has taken at any time.
///
/// It walks a circle, stands still for a while, and walks on. The whole motion is a closed formula that is twice
/// continuously differentiable, so what the sensors give (`WalkingBody+sensors.swift`) agrees with the truth here. Times are s since it began; vectors of the earth are east, north, up.
package struct WalkingBody: Sendable, Hashable {
    package let seed: UInt64
    package let person: WalkingPerson
    package let pace: WalkingPace

    /// The body of `seed`: the same seed is the same person, place, motion and noise.
    package init(seed: UInt64) { self.init(seed: seed, person: WalkingPerson(seed: seed)) }

    package init(seed: UInt64, person: WalkingPerson) {
        self.seed = seed
        self.person = person
        pace = WalkingPace(cadence: person.cadence)
    }

    /// Whole steps taken since the beginning.
    package func steps(at time: Double) -> Int {
        let (cycle, local) = pace.split(time)
        // A hair more, so that rounding does not take the last step of a walk away.
        return cycle * pace.stepsPerCycle + Int((pace.phase(local) + 1e-9).rounded(.down))
    }

    /// Metres walked since the beginning, along the circle.
    package func distance(at time: Double) -> Double {
        let (cycle, local) = pace.split(time)
        return person.stepLength * (Double(cycle * pace.stepsPerCycle) + pace.phase(local))
    }

    /// Speed along the circle, in m/s.
    package func speed(at time: Double) -> Double {
        person.stepLength * person.cadence * pace.envelope(pace.split(time).time)
    }

    /// Course over ground, in rad clockwise from north, 0…2π.
    package func course(at time: Double) -> Double {
        let (cycle, local) = pace.split(time)
        return course(cycle: cycle, local: local)
    }

    /// Where the device is, in m east, north and up of where it began, with the swinging of each step.
    package func position(at time: Double) -> SIMD3<Double> {
        let (cycle, local) = pace.split(time)
        return position(cycle: cycle, local: local)
    }

    /// How the device is turned: takes a vector of the device (x right, y top edge, z out of the screen) to the earth
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
        // A clockwise circle has its middle on the right hand; swaying to the right brings it nearer.
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
