import Glibc
import LockstepModel
import LockstepMotion
import SensorTestSupport
import Testing

@Suite("Attitude")
struct AttitudeTests {
    private func attitude(yaw: Double, pitch: Double, roll: Double) -> Attitude {
        Attitude(
            quaternion: Quaternion(angle: yaw, axis: SIMD3(0, 0, 1)) * Quaternion(angle: pitch, axis: SIMD3(1, 0, 0))
                * Quaternion(angle: roll, axis: SIMD3(0, 1, 0)))
    }

    @Test("roll, pitch and yaw of an attitude are the angles it was composed from")
    func angles() {
        var random = seeded("roll, pitch, yaw").random
        for _ in 0..<1000 {
            let yaw = Double.random(in: -3.1...3.1, using: &random)
            let pitch = Double.random(in: -1.5...1.5, using: &random)
            let roll = Double.random(in: -3.1...3.1, using: &random)
            let composed = attitude(yaw: yaw, pitch: pitch, roll: roll)
            #expect(
                abs(composed.yaw - yaw) < 1e-9 && abs(composed.pitch - pitch) < 1e-9 && abs(composed.roll - roll) < 1e-9
            )
        }
    }

    @Test("at a pitch of ±90° the whole rotation is reported as yaw")
    func upright() {
        for pitch in [Double.pi / 2, -.pi / 2] {
            let composed = attitude(yaw: 0.4, pitch: pitch, roll: 0.3)
            #expect(abs(composed.pitch - pitch) < 1e-6 && composed.roll == 0)
            let again = attitude(yaw: composed.yaw, pitch: composed.pitch, roll: 0)
            let difference = again.multiplied(byInverseOf: composed)
            #expect(length(difference.quaternion.rotationVector) < 1e-6)
        }
    }

    @Test("quaternion and matrix rotate vectors equally")
    func matrix() {
        let some = attitude(yaw: 1, pitch: 0.5, roll: -2)
        let vector = SIMD3(0.3, -1, 2)
        #expect(length(some.rotationMatrix.rotate(vector) - some.quaternion.rotate(vector)) < 1e-12)
        // The pitch is the elevation of the top edge.
        #expect(abs(some.rotationMatrix.m32 - sin(0.5)) < 1e-12)
    }

    @Test("the change since an earlier attitude is the rotation that was applied to it")
    func change() {
        let before = attitude(yaw: 1, pitch: 0.5, roll: -0.2)
        let turn = Quaternion(angle: 0.25, axis: SIMD3(0, 1, 0))
        var after = Attitude(quaternion: before.quaternion * turn)
        after.multiply(byInverseOf: before)
        #expect(length(after.quaternion.rotationVector - SIMD3(0, 0.25, 0)) < 1e-12)
    }

    @Test("a flat device with its top edge to the north has yaw 0, and Core Motion's frame is rotated by 90°")
    func north() {
        let flat = attitude(yaw: 0, pitch: 0, roll: 0)
        #expect(flat.yaw == 0)
        // In that frame x is north and y west: the device's x axis, which points east, is along −y.
        let x = flat.withXNorth.quaternion.rotate(SIMD3(1, 0, 0))
        #expect(length(x - SIMD3(0, -1, 0)) < 1e-12)
    }

    @Test("device motion that is converted to a row and back is equal within the resolution of sensors")
    func rows() throws {
        var motion = DeviceMotion(
            timestamp: Timestamp(microseconds: start), attitude: attitude(yaw: 1, pitch: 0.5, roll: -2),
            referenceFrame: .trueNorth, gravity: SIMD3(0.1, 0.2, -0.9), userAcceleration: SIMD3(1, 2, 3),
            rotationRate: SIMD3(0.5, 0.25, -8),
            magneticField: CalibratedMagneticField(field: SIMD3(1, -20.25, 44), accuracy: .high))
        func again() throws -> DeviceMotion {
            var block = SampleBlock(stream: .deviceMotion)
            block.append(time: motion.timestamp, values: motion.values)
            #expect(block.isComplete)
            return try #require(DeviceMotion(block, at: 0))
        }
        var read = try again()
        let difference = read.attitude.multiplied(byInverseOf: motion.attitude).quaternion.rotationVector
        #expect(length(difference) < 3e-5)
        read.attitude = motion.attitude
        #expect(read == motion)
        motion.rotationRate = nil
        motion.magneticField = nil
        motion.referenceFrame = .arbitrary
        read = try again()
        #expect(read.rotationRate == nil && read.magneticField == nil && read.referenceFrame == .arbitrary)
    }
}
