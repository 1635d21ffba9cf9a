import Glibc
import LockstepModel
import LockstepMotion
import LockstepSensors
import SensorTestSupport
import Testing

/// Attitudes with hindsight of the trials in `shared/data/orientation`, against the optical reference.
@Suite("Attitude smoother", .enabled(if: sharedData != nil))
struct AttitudeSmootherTests {
    private static let degree = Double.pi / 180

    private struct Trial {
        var samples: [MotionSample] = []
        var reference: [Quaternion?] = []

        init(_ name: String) throws {
            let columns = ["qw", "qx", "qy", "qz", "movement"]
            let recording = try Recording(file: sharedFile("orientation/" + name), extras: columns)
            let values = try columns.map { try #require(recording.column($0)) }
            let sensors = try [SensorStream.gyroscope, .accelerometer, .magnetometer].map {
                try #require(recording.samples(of: $0)?.columns)
            }
            func axes(_ sensor: Int, _ row: Int) -> SIMD3<Double> {
                SIMD3(sensors[sensor][0][row], sensors[sensor][1][row], sensors[sensor][2][row])
            }
            for (row, time) in recording.times.enumerated() {
                samples.append(
                    MotionSample(
                        time: time, rotationRate: axes(0, row), force: axes(1, row) * -9.80665,
                        magneticField: axes(2, row)))
                let isCompared = values[4][row] == 1 && values[0][row].isFinite
                let rotation = Quaternion(
                    scalar: values[0][row], vector: SIMD3(values[1][row], values[2][row], values[3][row]))
                reference.append(isCompared ? rotation : nil)
            }
        }

        func error(of attitudes: [Quaternion]) throws -> AttitudeError {
            try #require(AttitudeError(zip(attitudes, reference).compactMap { own, other in other.map { (own, $0) } }))
        }
    }

    @Test(
        "errors are smaller than those of the offline reference implementation in every trial",
        .enabled(if: VQFReferenceTests.python != nil, "Python with the package vqf is missing: run deploy/check"))
    func reference() throws {
        var delayed = AttitudeSmootherParameters()
        delayed.gyroscopeDelay = 0.5
        for name in VQFReferenceTests.trials {
            let trial = try Trial(name)
            let rows = try VQFReferenceTests.reference(of: sharedFile("orientation/" + name), "offline")
            try #require(rows.count == trial.samples.count * 14)
            let theirs = try trial.error(
                of: trial.samples.indices.map { index in
                    let row = rows[index * 14 + 4..<index * 14 + 8].map(\.self)
                    return Quaternion(scalar: row[0], vector: SIMD3(row[1], row[2], row[3]))
                })
            let ours = try trial.error(
                of: AttitudeSmoother(parameters: delayed).attitudes(at: trial.samples).map(\.attitude))
            let same = try trial.error(
                of: AttitudeSmoother().attitudes(at: trial.samples).map(\.attitude))
            for (label, error) in [("offlineVQF", theirs), ("refined, delay 0.5", ours), ("refined", same)] {
                print(
                    "\(name) \(label): total \(error.total / Self.degree)°, inclination \(error.inclination / Self.degree)°"
                )
            }
            #expect(ours.total < theirs.total && ours.inclination < theirs.inclination)
            // Without the delay of the gyroscope, the inclination is that of the reference implementation.
            #expect(same.total < theirs.total && abs(same.inclination - theirs.inclination) < 1e-6)
        }
    }

    @Test("pieces with margins agree with the whole recording, and contain each time once", arguments: [true, false])
    func pieces(hasField: Bool) throws {
        var samples = try Trial(VQFReferenceTests.trials[1]).samples
        if !hasField { for index in samples.indices { samples[index].magneticField = nil } }
        let whole = AttitudeSmoother().attitudes(at: samples)
        var stream = AttitudeStream(pieceDuration: 40_000_000, margin: 30_000_000)
        let pieces = samples.flatMap { stream.append($0) } + stream.finish()
        #expect(pieces.map(\.time) == samples.map(\.time))
        #expect(stream.parts == 1)
        let error = try #require(AttitudeError(zip(pieces, whole).map { ($0.attitude, $1.attitude) }))
        print("pieces: \(error.total / Self.degree)°, \(error.inclination / Self.degree)°")
        // Without a field the heading drifts, and each piece estimates the drift from its own samples.
        #expect(error.total < (hasField ? 0.5 : 3) * Self.degree && error.inclination < 0.05 * Self.degree)
        // No step where pieces meet.
        let steps = zip(pieces, pieces.dropFirst()).map { length(($0.attitude.inverse * $1.attitude).rotationVector) }
        let wholeSteps = zip(whole, whole.dropFirst()).map {
            length(($0.attitude.inverse * $1.attitude).rotationVector)
        }
        let worst = zip(steps, wholeSteps).map { abs($0 - $1) }.max() ?? 9
        #expect(worst < 0.01 * Self.degree)
    }

    @Test("a gap begins a new part")
    func gap() throws {
        let samples = try Array(Trial(VQFReferenceTests.trials[1]).samples.prefix(4000))
        var stream = AttitudeStream()
        var results: [RefinedAttitude] = []
        for (index, sample) in samples.enumerated() {
            var sample = sample
            if index >= 2000 { sample.time += 2_000_000 }
            results += stream.append(sample)
            // A sample that is not later is ignored.
            results += stream.append(sample)
        }
        results += stream.finish()
        #expect(stream.parts == 2 && results.count == 4000)
        let second = AttitudeSmoother().attitudes(at: Array(samples[2000...]))
        #expect(results[2000...].map(\.attitude) == second.map(\.attitude))
    }

    @Test("a magnetic disturbance of ten seconds is rejected")
    func disturbance() throws {
        var samples = try Trial(VQFReferenceTests.trials[1]).samples
        let clean = AttitudeSmoother().attitudes(at: samples)
        for index in 30_000..<32_857 { samples[index].magneticField? += SIMD3(40, 20, 0) }
        let disturbed = AttitudeSmoother().attitudes(at: samples)
        let detected = disturbed[30_500..<32_500].count { $0.isMagneticFieldDisturbed }
        #expect(detected == 2000)
        let worst = zip(clean, disturbed).map { length(($0.attitude.inverse * $1.attitude).rotationVector) }.max() ?? 9
        print("disturbance: \(worst / Self.degree)°")
        #expect(worst < 0.6 * Self.degree)
    }

    @Test("samples of other sensors are interpolated at the times of the gyroscope")
    func interpolation() {
        var (gyroscope, accelerometer, magnetometer) = (
            MotionInterpolator.Series(), MotionInterpolator.Series(), MotionInterpolator.Series()
        )
        for step in 0..<100 {
            gyroscope.append(time: Int64(step) * 10_000, SIMD3(Double(step), 0, 0))
            // 50 Hz, with a gap of 0.6 s.
            let time = Int64(step) * 20_000 + 3000
            if step < 10 || step > 40 { accelerometer.append(time: time, SIMD3(0, Double(time), 1)) }
        }
        accelerometer.append(time: 5_000_000, SIMD3(.nan, 0, 0))
        magnetometer.append(time: 0, SIMD3(1, 2, 3))
        magnetometer.append(time: 400_000, SIMD3(1, 2, 7))
        let samples = MotionInterpolator().samples(
            gyroscope: gyroscope, accelerometer: accelerometer, magnetometer: magnetometer)
        // Up to 0.1 s beyond the last sample before the gap, and from 0.1 s before the first one after it.
        #expect(samples.map(\.time) == (0...28).map { $0 * 10_000 } + (73...99).map { $0 * 10_000 })
        #expect(samples[5].rotationRate.x == 5 && samples[5].force == SIMD3(0, 50_000, 1))
        #expect(samples[20].magneticField == SIMD3(1, 2, 5))
        #expect(samples.last?.magneticField == nil)
    }
}
