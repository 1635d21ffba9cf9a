import LockstepModel
import LockstepMotion
import LockstepSensors
import SensorTestSupport
import Testing

/// Device motion of the trials in `shared/data/orientation` against the optical reference and the reference
/// implementation.
@Suite("Device motion of recordings", .enabled(if: sharedData != nil))
struct RecordedMotionTests {
    private static let degree = Double.pi / 180

    private struct Trial {
        let recording: Recording
        let reference: [Int64: Quaternion]

        init(_ name: String) throws {
            let columns = ["qw", "qx", "qy", "qz", "movement"]
            let recording = try Recording(file: sharedFile("orientation/" + name), extras: columns)
            let values = try columns.map { try #require(recording.column($0)) }
            var reference: [Int64: Quaternion] = [:]
            for (row, time) in recording.times.enumerated() where values[4][row] == 1 && values[0][row].isFinite {
                reference[time] = Quaternion(
                    scalar: values[0][row], vector: SIMD3(values[1][row], values[2][row], values[3][row]))
            }
            self.recording = recording
            self.reference = reference
        }

        /// Returns the device motion that an agent would report for the samples that `keeps` selects by index, at times
        /// shifted by `jitter`.
        func motions(
            keeps: (Int) -> Bool = { _ in true }, jitter: (Int) -> Int64 = { _ in 0 }, calibrates: Bool = false
        ) throws -> [DeviceMotion] {
            var estimator = DeviceMotionEstimator(options: .init(calibratesMagneticField: calibrates))
            var motions: [DeviceMotion] = []
            let blocks = recording.blocks.filter { $0.stream != .location }
            for start in stride(from: 0, to: recording.times.count, by: 100) {
                for (lane, block) in blocks.enumerated() {
                    var part = SampleBlock(stream: block.stream)
                    for index in start..<min(block.count, start + 100) where keeps(index * 3 + lane) {
                        part.append(
                            time: Timestamp(microseconds: block.times[index] + jitter(index)),
                            values: block.values(at: index))
                    }
                    motions += estimator.update(part)
                }
            }
            return motions + estimator.finish()
        }

        func error(of motions: [DeviceMotion]) throws -> AttitudeError {
            try #require(
                AttitudeError(
                    motions.compactMap { motion in
                        reference[motion.timestamp.microseconds].map { (motion.attitude.quaternion, $0) }
                    }))
        }
    }

    @Test(
        "device motion agrees with the reference implementation at every sample and is as accurate",
        .enabled(if: VQFReferenceTests.python != nil, "Python with the package vqf is missing: run deploy/check"),
        arguments: VQFReferenceTests.trials)
    func agreement(_ name: String) throws {
        let trial = try Trial(name)
        let motions = try trial.motions()
        #expect(motions.count == trial.recording.times.count)
        let reference = try VQFReferenceTests.reference(of: sharedFile("orientation/" + name))
        var theirs = motions
        var worst = 0.0
        for index in motions.indices {
            let row = reference[index * 14 + 4..<index * 14 + 8].map { $0 }
            let other = Quaternion(scalar: row[0], vector: SIMD3(row[1], row[2], row[3]))
            let difference = other.inverse * motions[index].attitude.quaternion
            worst = max(worst, length(difference.rotationVector))
            theirs[index].attitude = Attitude(quaternion: other)
        }
        let (our, their) = (try trial.error(of: motions), try trial.error(of: theirs))
        print(
            "\(name): worst difference \(worst / Self.degree)°; error \(our.total / Self.degree)° total, "
                + "\(our.inclination / Self.degree)° inclination; reference implementation "
                + "\(their.total / Self.degree)° and \(their.inclination / Self.degree)°")
        #expect(worst < 0.1 * Self.degree)
        #expect(our.total < their.total + 0.05 * Self.degree)
        #expect(our.inclination < their.inclination + 0.05 * Self.degree)
    }

    @Test("calibrating a calibrated magnetometer adds an error of at most 0.3°", arguments: VQFReferenceTests.trials)
    func calibrated(_ name: String) throws {
        let trial = try Trial(name)
        let raw = try trial.error(of: try trial.motions())
        let calibrated = try trial.error(of: try trial.motions(calibrates: true))
        print("\(name) calibrated: \(calibrated.total / Self.degree)° after \(raw.total / Self.degree)°")
        #expect(calibrated.total < raw.total + 0.3 * Self.degree)
        #expect(abs(calibrated.inclination - raw.inclination) < 1e-9)
    }

    @Test("device motion remains accurate if a fifth of all samples is lost", arguments: VQFReferenceTests.trials)
    func losses(_ name: String) throws {
        let trial = try Trial(name)
        let whole = try trial.error(of: try trial.motions())
        let lossy = try trial.error(
            of: try trial.motions { index in
                var random = SeededGenerator(seed: 7, lane: 1, index: Int64(index))
                return Double.random(in: 0..<1, using: &random) > 0.2
            })
        print("\(name) with losses: \(lossy.total / Self.degree)° after \(whole.total / Self.degree)°")
        #expect(lossy.total < whole.total + 0.3 * Self.degree)
        #expect(lossy.inclination < whole.inclination + 0.3 * Self.degree)
    }

    @Test("device motion remains accurate at a third of the rate", arguments: VQFReferenceTests.trials)
    func slow(_ name: String) throws {
        let trial = try Trial(name)
        let whole = try trial.error(of: try trial.motions())
        let slow = try trial.error(of: try trial.motions { $0 / 3 % 3 == 0 })
        print("\(name) at 95 Hz: \(slow.total / Self.degree)° after \(whole.total / Self.degree)°")
        #expect(slow.total < whole.total + 1 * Self.degree)
        #expect(slow.inclination < whole.inclination + 0.5 * Self.degree)
    }
}
