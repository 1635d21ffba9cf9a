import Glibc
import LockstepModel
import SensorTestSupport
import Testing

@testable import LockstepMotion

@Suite("Device motion")
struct DeviceMotionTests {
    private static let degree = Double.pi / 180

    private func estimator(
        _ frame: AttitudeReferenceFrame = .magneticNorth, declination: Double? = nil, calibrates: Bool = true
    ) -> DeviceMotionEstimator {
        DeviceMotionEstimator(
            options: .init(referenceFrame: frame, declination: declination, calibratesMagneticField: calibrates))
    }

    @Test("the estimates for a rotating device match its true attitude and gravity, without user acceleration")
    func truth() throws {
        let device = TurningDevice(gyroscopeBias: SIMD3(0.003, -0.005, 0.004))
        var estimator = estimator()
        let motions = device.motions(from: &estimator, seconds: 0..<60)
        #expect(motions.count > 5900)
        #expect(motions.allSatisfy { $0.referenceFrame == .magneticNorth })
        // The bias converges in the first half minute.
        let settled = motions.filter { $0.timestamp.microseconds > 30_000_000 }
        let attitude = settled.map { device.error(of: $0) }.max() ?? .infinity
        let gravity = settled.map { device.gravityError(of: $0) }.max() ?? .infinity
        let push = settled.map { length($0.userAcceleration) }.max() ?? .infinity
        let rate =
            try settled.map { motion in
                let truth = device.rotationRate(at: Double(motion.timestamp.microseconds) / 1e6)
                return length(try #require(motion.rotationRate) - truth)
            }.max() ?? .infinity
        print("a rotating device: \(attitude) rad, gravity \(gravity), user \(push) g, rate \(rate) rad/s")
        #expect(attitude < 1.5 * Self.degree)
        #expect(gravity < 1 * Self.degree && push < 0.02)
        #expect(rate < 0.01)
    }

    @Test("the earth frames differ by the declination")
    func northernFrames() throws {
        let device = TurningDevice(motionFactor: 0.2)
        func last(_ frame: AttitudeReferenceFrame, declination: Double? = nil) throws -> DeviceMotion {
            var estimator = estimator(frame, declination: declination)
            return try #require(device.motions(from: &estimator, seconds: 0..<5).last)
        }
        let magnetic = try last(.magneticNorth)
        let trueNorth = try last(.trueNorth, declination: 0.2)
        #expect(trueNorth.referenceFrame == .trueNorth)
        // Magnetic north lies 0.2 rad east of true north, so headings from true north are larger by 0.2 rad.
        let difference = try #require(trueNorth.heading) - (try #require(magnetic.heading))
        #expect(abs(difference - 0.2) < 1e-9)
        // Without the declination, true north is unknown.
        #expect(try last(.trueNorth).referenceFrame == .magneticNorth)
    }

    @Test("the corrected frame starts with an arbitrary heading and does not drift")
    func correctedFrame() throws {
        // The device is not aligned with north, and its gyroscope's bias about the vertical makes the heading drift.
        let device = TurningDevice(earthField: SIMD3(15, -13, -44), gyroscopeBias: SIMD3(0, 0, 0.004), motionFactor: 0)
        var (corrected, drifting) = (estimator(.arbitraryCorrected), estimator(.arbitrary))
        let first = device.motions(from: &corrected, seconds: 0..<120)
        #expect(first.allSatisfy { $0.referenceFrame == .arbitraryCorrected })
        let begin = try #require(first.first)
        #expect(abs(begin.attitude.yaw) < 0.1 * Self.degree)
        #expect(first.allSatisfy { abs($0.attitude.yaw) < 1 * Self.degree })
        let other = device.motions(from: &drifting, seconds: 0..<2)
        #expect(other.allSatisfy { $0.referenceFrame == .arbitrary })
        #expect(first[0].heading == nil)
    }

    @Test("without a magnetometer the frame is arbitrary and gravity is known")
    func withoutMagnetometer() {
        let device = TurningDevice()
        var estimator = estimator()
        var motions = device.motions(from: &estimator, seconds: 0..<20, streams: [.accelerometer, .gyroscope])
        motions += estimator.finish()
        #expect(motions.count == 2000)
        for motion in motions {
            #expect(motion.referenceFrame == .arbitrary && motion.magneticField == nil && motion.rotationRate != nil)
        }
        #expect(motions.suffix(1000).allSatisfy { device.gravityError(of: $0) < 1 * Self.degree })
    }

    @Test("without a gyroscope the attitude is accurate for a device held still, and there is no rotation rate")
    func withoutGyroscope() throws {
        let device = TurningDevice(motionFactor: 0.02)
        for (streams, frame) in [
            ([SensorStream.accelerometer, .magnetometer], AttitudeReferenceFrame.magneticNorth),
            ([.accelerometer], .arbitrary),
        ] {
            var estimator = estimator()
            var motions = device.motions(from: &estimator, seconds: 0..<20, streams: streams)
            motions += estimator.finish()
            #expect(motions.count == 2000)
            for motion in motions.dropFirst(100) {
                #expect(motion.rotationRate == nil && motion.referenceFrame == frame)
                #expect(device.gravityError(of: motion) < 2 * Self.degree)
                if frame == .magneticNorth { #expect(device.error(of: motion) < 3 * Self.degree) }
            }
        }
    }

    @Test("the attitude remains accurate while a gyroscope disappears and returns")
    func disappearingGyroscope() throws {
        let device = TurningDevice(motionFactor: 0.05)
        let rest: [SensorStream] = [.accelerometer, .magnetometer]
        var estimator = estimator()
        var motions = device.motions(from: &estimator, seconds: 0..<20)
        motions += device.motions(from: &estimator, seconds: 20..<40, streams: rest)
        motions += device.motions(from: &estimator, seconds: 40..<80)
        motions += estimator.finish()
        #expect(motions.count == 8000)
        for motion in motions {
            let second = Double(motion.timestamp.microseconds) / 1e6
            if second > 21.1, second < 39.9 { #expect(motion.rotationRate == nil) }
            if second < 20 || second > 41 { #expect(motion.rotationRate != nil) }
            if second > 5 { #expect(device.gravityError(of: motion) < 3 * Self.degree, "at \(second) s") }
            if second > 60 { #expect(device.error(of: motion) < 3 * Self.degree, "at \(second) s") }
        }
    }

    @Test("the frame becomes arbitrary when a magnetometer disappears")
    func disappearingMagnetometer() {
        let device = TurningDevice()
        var estimator = estimator()
        _ = device.motions(from: &estimator, seconds: 0..<10)
        let later = device.motions(from: &estimator, seconds: 10..<20, streams: [.accelerometer, .gyroscope])
        #expect(later.last?.referenceFrame == .arbitrary && later.last?.magneticField == nil)
        #expect(later.last.map { device.gravityError(of: $0) < 1 * Self.degree } == true)
    }

    @Test("the device's own magnetic field is found during rotation and removed from the heading")
    func calibration() throws {
        let hardIron = SIMD3(14.0, -22, 31)
        let device = TurningDevice(hardIron: hardIron)
        var (calibrating, raw) = (estimator(), estimator(calibrates: false))
        let begin = device.motions(from: &calibrating, seconds: 0..<1)
        #expect(begin[0].magneticField?.accuracy == .uncalibrated)
        let motions = device.motions(from: &calibrating, seconds: 1..<120)
        let late = motions.suffix(2000)
        for motion in late {
            let truth = device.attitude(at: Double(motion.timestamp.microseconds) / 1e6).inverse
                .rotate(device.earthField)
            let field = try #require(motion.magneticField)
            #expect(length(field.field - truth) < 1.5, "\(field.field) instead of \(truth)")
            #expect(device.error(of: motion) < 4 * Self.degree)
        }
        #expect(late.last?.magneticField?.accuracy == .high)
        // Without calibration the heading is wrong.
        let wrong = device.motions(from: &raw, seconds: 0..<120).suffix(2000)
        #expect(wrong.map { device.error(of: $0) }.max() ?? 0 > 10 * Self.degree)
    }

    @Test("a device at rest remains uncalibrated")
    func uncalibrated() {
        let device = TurningDevice(hardIron: SIMD3(10, 10, 10), motionFactor: 0)
        var estimator = estimator()
        let motions = device.motions(from: &estimator, seconds: 0..<30)
        #expect(motions.allSatisfy { $0.magneticField?.accuracy == .uncalibrated })
    }

    @Test("the division of samples into blocks and the order of sensors have no effect")
    func blocks() throws {
        let device = TurningDevice()
        var random = seeded("blocks of motion").random
        var one = estimator()
        let expected = device.motions(from: &one, seconds: 0..<10) + one.finish()
        var other = estimator()
        var next: [SensorStream: Int64] = [.accelerometer: 0, .gyroscope: 0, .magnetometer: 0]
        var motions: [DeviceMotion] = []
        while let (stream, begin) = next.min(by: { ($0.value, $0.key.name) < ($1.value, $1.key.name) }),
            begin < 10_000_000
        {
            let end = min(10_000_000, begin + 10_000 * Int64.random(in: 1...40, using: &random))
            motions += other.update(device.samples(stream, at: stride(from: begin, to: end, by: 10_000)))
            next[stream] = end
        }
        motions += other.finish()
        #expect(motions == expected)
    }

    @Test("samples with earlier times are ignored, and the attitude restarts after a gap")
    func disorder() {
        let device = TurningDevice()
        var estimator = estimator()
        let first = device.motions(from: &estimator, seconds: 0..<5)
        let again = device.motions(from: &estimator, seconds: 2..<4)
        let more = device.motions(from: &estimator, seconds: 5..<6)
        let times = (first + again + more).map(\.timestamp)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        #expect(again.isEmpty || again.allSatisfy { $0.timestamp.microseconds > 4_700_000 })
        let later = device.motions(from: &estimator, seconds: 100..<110) + estimator.finish()
        #expect(later.suffix(500).allSatisfy { device.gravityError(of: $0) < 1 * Self.degree })
    }

    @Test("the estimate of the gyroscope's bias survives an outage of the accelerometer")
    func disappearingAccelerometer() throws {
        // Flat, and rotating at a constant 1 rad/s about the vertical, which only the gyroscope measures.
        for outage in [2, 5, 60] as [Int64] {
            var estimator = DeviceMotionEstimator(sensors: [.accelerometer, .gyroscope])
            func motions(_ seconds: Range<Int64>, withAccelerometer: Bool) -> [DeviceMotion] {
                var motions: [DeviceMotion] = []
                for start in stride(
                    from: seconds.lowerBound * 1_000_000, to: seconds.upperBound * 1_000_000, by: 200_000)
                {
                    let times = stride(from: start, to: start + 200_000, by: 10_000)
                    var (accelerometer, gyroscope) = (
                        SampleBlock(stream: .accelerometer), SampleBlock(stream: .gyroscope)
                    )
                    for time in times {
                        accelerometer.append(time: Timestamp(microseconds: time), values: [0, 0, -1])
                        gyroscope.append(time: Timestamp(microseconds: time), values: [0, 0, 1])
                    }
                    motions += estimator.update(gyroscope)
                    if withAccelerometer { motions += estimator.update(accelerometer) }
                }
                return motions
            }
            _ = motions(0..<10, withAccelerometer: true)
            _ = motions(10..<10 + outage, withAccelerometer: false)
            let after = motions(10 + outage..<30 + outage, withAccelerometer: true)
            let rate = try #require(after.last?.rotationRate)
            #expect(abs(rate.z - 1) < 0.001, "after \(outage) s: \(rate)")
        }
    }

    @Test("accelerometer samples that are zero on all axes yield no device motion")
    func zeros() {
        var estimator = DeviceMotionEstimator(sensors: [.accelerometer])
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<500 as Range<Int64> {
            block.append(time: Timestamp(microseconds: index * 10_000), values: [0, 0, 0])
        }
        #expect(estimator.update(block).isEmpty)
        #expect(estimator.finish().isEmpty)
    }

    @Test("the estimator does not wait for an absent sensor")
    func absent() {
        let device = TurningDevice()
        var estimator = DeviceMotionEstimator(sensors: [.accelerometer, .gyroscope])
        let motions = device.motions(from: &estimator, seconds: 0..<1, streams: [.accelerometer, .gyroscope])
        #expect(motions.count >= 80)
    }

    @Test("the magnetic calibration survives a gap and a clock that is set back")
    func calibrationSurvives() throws {
        let device = TurningDevice(hardIron: SIMD3(14, -22, 31))
        var estimator = estimator()
        _ = device.motions(from: &estimator, seconds: 0..<120)
        let gap = device.motions(from: &estimator, seconds: 130..<133)
        // Already at the first result, before new readings could restore the calibration.
        #expect(gap.first?.magneticField?.accuracy ?? .uncalibrated >= .low)
        _ = estimator.finish()
        let back = device.motions(from: &estimator, seconds: 50..<53)
        let last = try #require(back.first)
        let truth = device.sample(.magnetometer, at: Double(last.timestamp.microseconds) / 1e6) - device.hardIron
        #expect(length((last.magneticField?.field ?? SIMD3(0, 0, 0)) - truth) < 2)
    }

    @Test("without calibration the field is the raw reading")
    func asMeasured() throws {
        let device = TurningDevice(hardIron: SIMD3(14, -22, 31))
        var estimator = estimator(calibrates: false)
        let motions = device.motions(from: &estimator, seconds: 0..<60)
        let last = try #require(motions.last)
        let reading = device.sample(.magnetometer, at: Double(last.timestamp.microseconds) / 1e6)
        #expect(last.magneticField?.field == reading && last.magneticField?.accuracy == .uncalibrated)
    }

    @Test("the merger's memory is bounded")
    func memory() {
        // The magnetometer always lags by a block, so no queue is ever empty.
        var merger = MotionMerger(sensors: [.accelerometer, .gyroscope, .magnetometer])
        let device = TurningDevice()
        var maxBuffered = 0
        for start in stride(from: 0, to: 600_000_000, by: 100_000) as StrideTo<Int64> {
            let times = stride(from: start, to: start + 100_000, by: 20_000)
            merger.append(device.samples(.accelerometer, at: times))
            merger.append(device.samples(.gyroscope, at: times))
            merger.append(device.samples(.magnetometer, at: stride(from: start - 100_000, to: start, by: 40_000)))
            while merger.next() != nil {}
            maxBuffered = max(maxBuffered, merger.bufferedSamples)
        }
        #expect(maxBuffered < 2000)
    }
}
