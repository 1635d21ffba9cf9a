import Glibc
import LockstepModel

@testable import LockstepMotion

/// A device that rotates about all of its axes in one place, with known attitude. Times in µs and s have the same
/// origin.
struct TurningDevice {
    /// The earth's field in µT: east, north, up.
    var earthField = SIMD3(0.0, 20, -44)
    /// The device's own field in µT, along its axes.
    var hardIron = SIMD3(0.0, 0, 0)
    /// The distortion of the earth's field along its axes (soft iron).
    var softIron = SymmetricMatrix(diagonal: 1)
    /// The gyroscope's bias, in rad/s.
    var gyroscopeBias = SIMD3(0.0, 0, 0)
    /// The factor of the rotations; 0 is at rest.
    var motionFactor = 1.0

    /// Returns the attitude at `time` in s: the rotation from the device to the earth.
    func attitude(at time: Double) -> Quaternion {
        let yaw = Quaternion(angle: motionFactor * 0.7 * time, axis: SIMD3(0, 0, 1))
        let pitch = Quaternion(angle: motionFactor * 1.3 * sin(0.9 * time), axis: SIMD3(1, 0, 0))
        let roll = Quaternion(angle: motionFactor * 1.8 * sin(0.53 * time), axis: SIMD3(0, 1, 0))
        return yaw * pitch * roll
    }

    func rotationRate(at time: Double) -> SIMD3<Double> {
        let half = 1e-4
        return (attitude(at: time - half).inverse * attitude(at: time + half)).rotationVector / (2 * half)
    }

    /// Returns the reading of a sensor at `time` in s, in the unit of its stream.
    func sample(_ stream: SensorStream, at time: Double) -> SIMD3<Double> {
        switch stream {
        case .gyroscope: rotationRate(at: time) + gyroscopeBias
        case .magnetometer: softIron * attitude(at: time).inverse.rotate(earthField) + hardIron
        default: attitude(at: time).inverse.rotate(SIMD3(0, 0, -1))
        }
    }

    func samples(_ stream: SensorStream, at times: some Sequence<Int64>) -> SampleBlock {
        var block = SampleBlock(stream: stream)
        for time in times {
            let value = sample(stream, at: Double(time) / 1e6)
            block.append(time: Timestamp(microseconds: time), values: [value.x, value.y, value.z])
        }
        return block
    }

    /// Returns the device motion of `seconds` at 100 Hz, processed in blocks of 200 ms.
    func motions(
        from estimator: inout DeviceMotionEstimator, seconds: Range<Int64>,
        streams: [SensorStream] = [.accelerometer, .gyroscope, .magnetometer]
    ) -> [DeviceMotion] {
        var motions: [DeviceMotion] = []
        for start in stride(from: seconds.lowerBound * 1_000_000, to: seconds.upperBound * 1_000_000, by: 200_000) {
            for stream in streams {
                motions += estimator.update(samples(stream, at: stride(from: start, to: start + 200_000, by: 10_000)))
            }
        }
        return motions
    }

    /// Returns the angle between the estimated and the true attitude, in rad.
    func error(of motion: DeviceMotion) -> Double {
        let truth = attitude(at: Double(motion.timestamp.microseconds) / 1e6)
        return length((truth.inverse * motion.attitude.quaternion).rotationVector)
    }

    /// Returns the length of the difference between the estimated and the true direction of gravity: approximately the
    /// angle between them in rad.
    func gravityError(of motion: DeviceMotion) -> Double {
        let truth = attitude(at: Double(motion.timestamp.microseconds) / 1e6).inverse.rotate(SIMD3(0, 0, -1))
        return length(truth - motion.gravity)
    }
}
