import Glibc
import LockstepMotion
import LockstepSensors
import Testing

@Suite("Inclination")
struct InclinationTests {
    /// Returns gravity in the axes of a device that was flat and is rotated by `rotation`.
    private func gravity(after rotation: Quaternion) -> SIMD3<Double> { rotation.inverse.rotate(SIMD3(0, 0, -1)) }

    @Test("the angle is 0 face up, π/2 upright, π face down", arguments: [0.0, 0.3, 1, .pi / 2, 2, .pi])
    func angles(angle: Double) throws {
        let inclination = try #require(
            Inclination(gravity: 0.98 * gravity(after: Quaternion(angle: angle, axis: SIMD3(1, 0, 0)))))
        #expect(abs(inclination.angle - angle) < 1e-9)
    }

    @Test("a rotation about one axis yields the signed angle about that axis and 0 about the other")
    func axes() throws {
        for angle in [-1.2, -0.1, 0, 0.02, 0.7] {
            let about = { (axis: SIMD3<Double>) in
                Inclination(gravity: gravity(after: Quaternion(angle: angle, axis: axis)))
            }
            let x = try #require(about(SIMD3(1, 0, 0)))
            #expect(abs(x.aboutX - angle) < 1e-12)
            #expect(abs(x.aboutY) < 1e-12)
            let y = try #require(about(SIMD3(0, 1, 0)))
            #expect(abs(y.aboutY - angle) < 1e-12)
            #expect(abs(y.aboutX) < 1e-12)
            let z = try #require(about(SIMD3(0, 0, 1)))
            #expect(abs(z.angle) < 1e-12)
        }
    }

    @Test("an inclination of a millionth of a degree is accurate to nine digits")
    func small() throws {
        let angle = 1e-6 * .pi / 180
        let inclination = try #require(Inclination(gravity: SIMD3(0, -sin(angle), -cos(angle))))
        #expect(abs(inclination.angle / angle - 1) < 1e-9)
        #expect(abs(inclination.aboutX / angle - 1) < 1e-9)
    }

    @Test("a vector without direction has no inclination")
    func none() {
        #expect(Inclination(gravity: SIMD3(0, 0, 0)) == nil)
        #expect(Inclination(gravity: SIMD3(0, .nan, 1)) == nil)
        #expect(Inclination(gravity: SIMD3(0, .infinity, 1)) == nil)
    }
}
