import Glibc
import LockstepModel
import LockstepMotion
import SensorTestSupport
import Testing

@testable import LockstepSensors

/// A sensor with wrong scales, misaligned axes, offsets and noise.
private struct WrongSensor {
    /// The rows of the matrix from the true acceleration to the reading: misalignments of about 2°.
    static let matrix = [SIMD3(1.05, 0.035, -0.01), SIMD3(-0.02, 0.97, 0.035), SIMD3(0.03, 0, 1.02)]
    static let offset = SIMD3(0.08, -0.05, 0.03)
    static let rotationOffset = SIMD3(0.05, -0.03, 0.01)

    var random: SeededGenerator
    let matrix: [SIMD3<Double>]
    let noise = 0.005
    var samples = (accelerometer: SampleBlock(stream: .accelerometer), gyroscope: SampleBlock(stream: .gyroscope))

    init(_ test: String, matrix: [SIMD3<Double>] = Self.matrix) {
        random = seeded(test).random
        self.matrix = matrix
    }

    func reading(of acceleration: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3(dot(matrix[0], acceleration), dot(matrix[1], acceleration), dot(matrix[2], acceleration)) + Self.offset
    }

    /// Lies for a time with gravity in one direction, at 50 Hz.
    /// - Parameter rate: the rate of a turn about the vertical, in rad/s.
    mutating func lie(_ gravity: SIMD3<Double>, turning rate: Double = 0, seconds: Double = 3) {
        for _ in 0..<Int(seconds * 50) { append(gravity, rotation: gravity * rate) }
    }

    mutating func append(_ gravity: SIMD3<Double>, rotation: SIMD3<Double> = .zero) {
        let time = Timestamp(microseconds: Int64(samples.accelerometer.count) * 20_000)
        let acceleration = reading(of: gravity / length(gravity)) + random.gaussianVector() * noise
        let rate = rotation + Self.rotationOffset + random.gaussianVector() * noise
        samples.accelerometer.append(time: time, values: [acceleration.x, acceleration.y, acceleration.z])
        samples.gyroscope.append(time: time, values: [rate.x, rate.y, rate.z])
    }

    /// The positions that are found if the samples arrive in batches, those of the gyroscope later.
    func positions() -> [StillPosition] {
        var detector = StillPositionDetector(hasGyroscope: true)
        var found: [StillPosition] = []
        for start in stride(from: 0, to: samples.accelerometer.count, by: 37) {
            let range = start..<min(start + 37, samples.accelerometer.count)
            found += detector.add(samples.accelerometer[range])
            found += detector.add(samples.gyroscope[range])
        }
        return found
    }
}

private let tilts = [SIMD3(1.0, 1, 0.3), SIMD3(-1.0, 0.2, 1), SIMD3(0.2, -1.0, -1)]

@Suite("Calibration of accelerometer and gyroscope")
struct InertialCalibrationTests {
    private func calibrator(_ positions: [StillPosition]) throws -> InertialCalibrator {
        var calibrator = InertialCalibrator()
        for position in positions { _ = try calibrator.add(position) }
        return calibrator
    }

    /// Returns the calibrated acceleration of a sensor in a direction, without noise.
    private func calibrated(
        _ direction: SIMD3<Double>, of sensor: WrongSensor, _ calibration: InertialCalibration
    ) -> SIMD3<Double> {
        let reading = sensor.reading(of: direction)
        let block = SampleBlock(
            stream: .accelerometer, times: [0], columns: [[reading.x], [reading.y], [reading.z]])
        let values = calibration.calibrated(block).values(at: 0)
        return SIMD3(values[0], values[1], values[2])
    }

    @Test("with wrong scales, offsets and misaligned axes, |a| is right within 2 mg in every direction")
    func wrongSensor() throws {
        var sensor = WrongSensor("wrongSensor")
        for face in DeviceOrientation.allCases { sensor.lie(face.gravity) }
        for tilt in tilts { sensor.lie(tilt) }
        let positions = sensor.positions()
        #expect(positions.count == 9 && positions.compactMap(\.face) == DeviceOrientation.allCases)
        let calibrator = try calibrator(positions)
        #expect(calibrator.isComplete)
        let calibration = try calibrator.calibration(at: Timestamp(microseconds: 7))
        #expect(calibration.positions == 9 && calibration.time.microseconds == 7 && calibration.problem == nil)
        #expect(calibration.errorBefore > 0.02 && calibration.errorAfter < 0.002, "\(calibration)")
        for _ in 0..<200 {
            let vector = SIMD3(
                Double.random(in: -1...1, using: &sensor.random), Double.random(in: -1...1, using: &sensor.random),
                Double.random(in: -1...1, using: &sensor.random))
            guard length(vector) > 0.1 else { continue }
            let direction = vector / length(vector)
            #expect(abs(length(calibrated(direction, of: sensor, calibration)) - 1) < 0.002)
        }
        let rotation = try #require(calibration.rotationOffset)
        #expect(length(rotation - WrongSensor.rotationOffset) < 0.001)
    }

    @Test("the tilted positions do not change the values, so that their error is that of other positions")
    func independentCheck() throws {
        var sensor = WrongSensor("independentCheck")
        for face in DeviceOrientation.allCases { sensor.lie(face.gravity) }
        let six = try calibrator(sensor.positions()).calibration(at: Timestamp(microseconds: 0))
        for tilt in tilts { sensor.lie(tilt) }
        let nine = try calibrator(sensor.positions()).calibration(at: Timestamp(microseconds: 0))
        #expect(six.matrix == nine.matrix && six.offset == nine.offset)
        #expect(six.positions == 6 && nine.positions == 9 && six.errorAfter != nine.errorAfter)
    }

    @Test("if the device did not lie flat, its misalignment is left out, and scale and offset are right nevertheless")
    func notFlat() throws {
        var sensor = WrongSensor("notFlat", matrix: [SIMD3(1.05, 0, 0), SIMD3(0, 0.97, 0), SIMD3(0, 0, 1.02)])
        // Each side is 4° from level, in another direction.
        let errors = [
            SIMD3(0.07, 0, 0), SIMD3(0, 0, 0.07), SIMD3(0, 0.07, 0), SIMD3(0, 0, -0.07), SIMD3(0, -0.07, 0),
            SIMD3(0.07, 0, 0),
        ]
        for (face, error) in zip(DeviceOrientation.allCases, errors) { sensor.lie(face.gravity + error) }
        for tilt in tilts { sensor.lie(tilt) }
        let calibration = try calibrator(sensor.positions()).calibration(at: Timestamp(microseconds: 0))
        #expect(calibration.errorBefore > 0.02 && calibration.errorAfter < 0.002, "\(calibration)")
        #expect(length(calibration.offset - WrongSensor.offset) < 0.003, "\(calibration)")
        for (row, identity) in zip(calibration.matrix, InertialCalibration.identity) {
            #expect(length((row * (1 - identity))) == 0, "\(calibration)")
        }
    }

    @Test("a board that is mounted askew keeps its angle, because gyroscope and magnetometer have the same one")
    func askew() throws {
        let (sine, cosine) = (sin(3 * Double.pi / 180), cos(3 * Double.pi / 180))
        let scales = SIMD3(1.05, 0.97, 1.02)
        var sensor = WrongSensor(
            "askew",
            matrix: [SIMD3(cosine, -sine, 0) * scales.x, SIMD3(sine, cosine, 0) * scales.y, SIMD3(0, 0, scales.z)])
        // Each side is half a degree to one degree from level.
        let errors = [
            SIMD3(0.015, 0, 0), SIMD3(0, 0, -0.01), SIMD3(0, -0.015, 0), SIMD3(0, 0, 0.015), SIMD3(0, 0.01, 0),
            SIMD3(-0.015, 0, 0),
        ]
        for (face, error) in zip(DeviceOrientation.allCases, errors) { sensor.lie(face.gravity + error) }
        for tilt in tilts { sensor.lie(tilt) }
        let calibration = try calibrator(sensor.positions()).calibration(at: Timestamp(microseconds: 0))
        #expect(calibration.problem == nil && calibration.errorAfter < 0.005, "\(calibration)")
        #expect(length(calibration.offset - WrongSensor.offset) < 0.003, "\(calibration)")
        for row in 0..<3 {
            for column in 0..<3 {
                let right = row == column ? 1 / scales[row] : 0
                // The rotation would be 0.05.
                #expect(abs(calibration.matrix[row][column] - right) < (row == column ? 0.003 : 0.01), "\(calibration)")
            }
        }
    }

    @Test("an accelerometer that no calibration improves stays as it is, and the offset of the gyroscope is found")
    func goodAccelerometer() throws {
        let rate = SIMD3(0.02, 0, -0.01)
        // Sides that were read 4 mg too long, such as by a vibration.
        let sides = DeviceOrientation.allCases.map {
            StillPosition(time: 0, acceleration: $0.gravity * 1.004, rotationRate: rate)
        }
        let others = tilts.map { StillPosition(time: 0, acceleration: $0 / length($0), rotationRate: rate) }
        let calibration = try calibrator(sides + others).calibration(at: Timestamp(microseconds: 0))
        #expect(calibration.matrix == InertialCalibration.identity && calibration.offset == .zero)
        #expect(calibration.errorBefore == 0 && calibration.errorAfter == 0)
        #expect(length(try #require(calibration.rotationOffset) - rate) < 1e-6)
    }

    @Test("a steady turn about the vertical in one position, which |a| does not show, is refused")
    func turned() throws {
        var sensor = WrongSensor("turned")
        for face in DeviceOrientation.allCases { sensor.lie(face.gravity, turning: face == .portrait ? 0.1 : 0) }
        let calibrator = try calibrator(sensor.positions())
        let error = #expect(throws: InertialCalibrationError.self) {
            try calibrator.calibration(at: Timestamp(microseconds: 0))
        }
        guard case .turning(let difference) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(abs(difference - 0.1) < 0.005)
    }

    @Test("after it was moved, a device has a new position, also close to the one before")
    func tiltedFurther() {
        func tilt(_ degrees: Double) -> SIMD3<Double> {
            SIMD3(sin(degrees * .pi / 180), 0, -cos(degrees * .pi / 180))
        }
        var sensor = WrongSensor("tiltedFurther", matrix: InertialCalibration.identity)
        sensor.lie(tilt(20), seconds: 6)
        for step in 0..<50 { sensor.append(tilt(25 + 10 * sin(Double(step)))) }
        sensor.lie(tilt(30), seconds: 6)
        #expect(sensor.positions().count == 2)
    }

    @Test("a device that is moved, or turned slowly, has no position")
    func moved() {
        var sensor = WrongSensor("moved")
        for step in 0..<500 {
            // 6°/s.
            let angle = Double(step) * 0.02 * 0.1
            sensor.append(SIMD3(sin(angle), 0, -cos(angle)), rotation: SIMD3(0, 0.1, 0))
        }
        for step in 0..<500 { sensor.append(SIMD3(0.2 * sin(Double(step) * 0.6), 0, -1)) }
        #expect(sensor.positions().isEmpty)
    }

    @Test("positions that are missing, repeated, between sides or impossible are refused with the reason")
    func refused() throws {
        var calibrator = InertialCalibrator()
        func position(_ x: Double, _ y: Double, _ z: Double, rate: Double = 0) -> StillPosition {
            StillPosition(time: 0, acceleration: SIMD3(x, y, z), rotationRate: SIMD3(rate, 0, 0))
        }
        #expect(try calibrator.add(position(0, 0, -1.1)))
        #expect(try !calibrator.add(position(0, 0.05, -1)))
        #expect(try !calibrator.add(position(0, 0.35, -0.93)))
        #expect(try calibrator.add(position(0, 0.7, -0.7)))
        #expect(try !calibrator.add(position(0, 0.75, -0.65)))
        #expect(calibrator.count == 2)
        let missing = #expect(throws: InertialCalibrationError.self) {
            try calibrator.calibration(at: Timestamp(microseconds: 0))
        }
        #expect(missing == .missing([.faceDown, .portrait, .portraitUpsideDown, .landscapeLeft, .landscapeRight]))
        let heavy = #expect(throws: InertialCalibrationError.self) { try calibrator.add(position(9.81, 0, 0)) }
        #expect(heavy == .impossibleAcceleration(9.81))
        let turning = #expect(throws: InertialCalibrationError.self) {
            try calibrator.add(position(1, 0, 0, rate: 0.5))
        }
        #expect(turning == .impossibleRotation(0.5))
    }

    @Test("calibrated samples can be converted back, and other streams stay as they are")
    func inverse() throws {
        let calibration = InertialCalibration(
            time: Timestamp(microseconds: 0), matrix: WrongSensor.matrix, offset: WrongSensor.offset,
            rotationOffset: WrongSensor.rotationOffset, positions: 6, errorBefore: 0.1, errorAfter: 0.001)
        for stream in [SensorStream.accelerometer, .gyroscope] {
            let samples = SampleBlock(stream: stream, times: [1, 2], columns: [[0.3, -1], [0.1, 0.2], [-0.9, 0]])
            let calibrated = calibration.calibrated(samples)
            let back = calibration.uncalibrated(calibrated)
            #expect(calibrated != samples && back.times == samples.times)
            for (column, original) in zip(back.columns, samples.columns) {
                #expect(zip(column, original).allSatisfy { abs($0 - $1) < 3e-6 })
            }
        }
        let field = SampleBlock(stream: .magnetometer, times: [1], columns: [[1], [2], [3]])
        #expect(calibration.calibrated(field) == field && calibration.uncalibrated(field) == field)
    }

    @Test(
        "a real sensor at rest stays on one side, though noise may interrupt its position",
        .enabled(if: sharedData != nil))
    func recording() throws {
        let recording = try Recording(file: sharedFile("orientation/28_disturbed_stationary_magnet_A.csv"))
        let accelerometer = try #require(recording.samples(of: .accelerometer))
        let gyroscope = try #require(recording.samples(of: .gyroscope))
        var detector = StillPositionDetector(hasGyroscope: true)
        let positions = detector.add(gyroscope) + detector.add(accelerometer)
        #expect(!positions.isEmpty && positions.allSatisfy { $0.face == .faceUp }, "\(positions)")
    }
}

private func dot(_ left: SIMD3<Double>, _ right: SIMD3<Double>) -> Double { (left * right).sum() }
private func length(_ vector: SIMD3<Double>) -> Double { dot(vector, vector).squareRoot() }
