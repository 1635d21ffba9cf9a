import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepMotion

@Suite("Magnetic calibration")
struct MagneticCalibrationTests {
    private static let degree = Double.pi / 180
    private let device = TurningDevice(hardIron: EllipsoidFitTests.center, softIron: EllipsoidFitTests.distortion)

    private func largestError(_ motions: some Sequence<DeviceMotion>, of device: TurningDevice) -> Double {
        motions.map { device.error(of: $0) }.max() ?? .infinity
    }

    @Test("a device that rotates in all directions is calibrated for hard and soft iron, and its heading is accurate")
    func softIron() throws {
        var calibrating = DeviceMotionEstimator()
        let motions = device.motions(from: &calibrating, seconds: 0..<150)
        let calibration = try #require(calibrating.magneticCalibration)
        #expect(calibration.kind == .softIron && calibration.accuracy == .high)
        #expect(length(calibration.offset - device.hardIron) < 1)
        #expect(abs(calibration.axisRatio - 1.44) < 0.03)
        #expect(try #require(calibration.residual) < 0.5 && calibration.coverage >= 0.75)
        #expect(largestError(motions.suffix(2000), of: device) < 4 * Self.degree)
        for motion in motions.suffix(2000) {
            let truth = device.attitude(at: Double(motion.timestamp.microseconds) / 1e6).inverse
                .rotate(device.earthField)
            #expect(length(try #require(motion.magneticField).field - truth) < 1.5)
        }
    }

    @Test("a device without soft iron is calibrated for hard iron only")
    func hardIron() throws {
        let device = TurningDevice(hardIron: EllipsoidFitTests.center)
        var estimator = DeviceMotionEstimator()
        _ = device.motions(from: &estimator, seconds: 0..<120)
        let calibration = try #require(estimator.magneticCalibration)
        #expect(calibration.kind == .hardIron && calibration.axisRatio == 1 && calibration.accuracy == .high)
        #expect(length(calibration.offset - device.hardIron) < 1.5)
    }

    @Test("a device at rest is reported as uncalibrated")
    func rest() throws {
        var estimator = DeviceMotionEstimator()
        let resting = TurningDevice(hardIron: EllipsoidFitTests.center, motionFactor: 0)
        #expect(estimator.magneticCalibration == nil)
        _ = resting.motions(from: &estimator, seconds: 0..<20)
        let calibration = try #require(estimator.magneticCalibration)
        #expect(calibration.kind == .none && calibration.accuracy == .uncalibrated && calibration.coverage == 0)
        #expect(calibration.residual == nil)
        var excluded = DeviceMotionEstimator(options: .init(calibratesMagneticField: false))
        _ = resting.motions(from: &excluded, seconds: 0..<5)
        #expect(excluded.magneticCalibration == nil)
    }

    /// Updates a calibrator with the readings of a device that takes these attitudes.
    private func calibrate(
        _ calibrator: inout MagneticCalibrator, _ attitudes: [Quaternion], noise: Double,
        center: SIMD3<Double> = EllipsoidFitTests.center, distortion: SymmetricMatrix = EllipsoidFitTests.distortion
    ) {
        var random = SeededGenerator(seed: 9)
        for attitude in attitudes {
            let shake = SIMD3<Double>(
                .random(in: -1...1, using: &random), .random(in: -1...1, using: &random),
                .random(in: -1...1, using: &random))
            let field = attitude.inverse.rotate(SIMD3(0, 20, -44))
            calibrator.update(center + distortion * field + shake * (noise * 3.0.squareRoot()), attitude: attitude)
        }
    }

    /// Returns attitudes with a random yaw, and pitch and roll of at most `tilt` rad.
    private func attitudes(_ count: Int, tilt: Double, seed: UInt64 = 3) -> [Quaternion] {
        var random = SeededGenerator(seed: seed)
        return (0..<count).map { _ in
            Quaternion(angle: .random(in: -3...3, using: &random), axis: SIMD3(0, 0, 1))
                * Quaternion(angle: .random(in: -tilt...tilt, using: &random), axis: SIMD3(1, 0, 0))
                * Quaternion(angle: .random(in: -tilt...tilt, using: &random), axis: SIMD3(0, 1, 0))
        }
    }

    @Test("with partial coverage, readings are corrected for hard iron only", arguments: [0.1, 0.3, 0.6], [0.2, 1])
    func partial(tilt: Double, noise: Double) {
        var calibrator = MagneticCalibrator()
        var hardIron = HardIronEstimator()
        let some = attitudes(600, tilt: tilt)
        calibrate(&calibrator, some, noise: noise)
        var random = SeededGenerator(seed: 9)
        for attitude in some {
            let shake = SIMD3<Double>(
                .random(in: -1...1, using: &random), .random(in: -1...1, using: &random),
                .random(in: -1...1, using: &random))
            let field = EllipsoidFitTests.distortion * attitude.inverse.rotate(SIMD3(0, 20, -44))
            _ = hardIron.update(
                EllipsoidFitTests.center + field + shake * (noise * 3.0.squareRoot()), attitude: attitude)
        }
        let reading = SIMD3(10.0, 20, 30)
        #expect(calibrator.calibration.kind != .softIron)
        #expect(calibrator.corrected(reading) == reading - hardIron.offset)
        #expect(calibrator.accuracy == hardIron.accuracy)
    }

    @Test("a disturbed field is not mistaken for soft iron")
    func disturbed() {
        var calibrator = MagneticCalibrator()
        calibrate(&calibrator, attitudes(600, tilt: 3), noise: 6)
        #expect(calibrator.calibration.kind != .softIron)
        #expect(calibrator.accuracy < .high)
    }

    @Test("a soft-iron calibration is kept while the device is used in few directions, and after a restart")
    func lasting() {
        var calibrator = MagneticCalibrator()
        calibrate(&calibrator, attitudes(600, tilt: 3), noise: 0.3)
        #expect(calibrator.calibration.kind == .softIron && calibrator.accuracy == .high)
        let reading = SIMD3(10.0, 20, 30)
        let before = calibrator.corrected(reading)
        #expect(calibrator.restarted.corrected(reading) == before)
        calibrate(&calibrator, attitudes(900, tilt: 0.1), noise: 0.3)
        #expect(calibrator.calibration.kind == .softIron)
        #expect(length(calibrator.corrected(reading) - before) < 1)
    }

    @Test("the calibration adapts to a magnet that is attached to the device, and keeps soft iron")
    func attached() {
        var calibrator = MagneticCalibrator()
        calibrate(&calibrator, attitudes(600, tilt: 3), noise: 0.3)
        let moved = EllipsoidFitTests.center + SIMD3(40, 0, -20)
        calibrate(&calibrator, attitudes(3000, tilt: 3, seed: 4), noise: 0.3, center: moved)
        #expect(calibrator.calibration.kind == .softIron)
        #expect(length(calibrator.calibration.offset - moved) < 1.5)
    }
}
