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

    @Test("of a device that turns is its attitude to the earth, gravity, and nothing beside it")
    func truth() throws {
        let device = TurningDevice(gyroscopeBias: SIMD3(0.003, -0.005, 0.004))
        var estimator = estimator()
        let motions = device.motions(from: &estimator, seconds: 0..<60)
        #expect(motions.count > 5900)
        #expect(motions.allSatisfy { $0.referenceFrame == .magneticNorth })
        // The first half minute is for the bias.
        let settled = motions.filter { $0.timestamp.microseconds > 30_000_000 }
        let attitude = settled.map { device.error(of: $0) }.max() ?? .infinity
        let gravity = settled.map { device.gravityError(of: $0) }.max() ?? .infinity
        let push = settled.map { length($0.userAcceleration) }.max() ?? .infinity
        let rate =
            try settled.map { motion in
                let truth = device.rotationRate(at: Double(motion.timestamp.microseconds) / 1e6)
                return length(try #require(motion.rotationRate) - truth)
            }.max() ?? .infinity
        print("a turning device: \(attitude) rad, gravity \(gravity), user \(push) g, rate \(rate) rad/s")
        #expect(attitude < 1.5 * Self.degree)
        #expect(gravity < 1 * Self.degree && push < 0.02)
        #expect(rate < 0.01)
    }

    @Test("in frames of the earth points where it points, by the declination apart")
    func northernFrames() throws {
        let device = TurningDevice(liveliness: 0.2)
        func last(_ frame: AttitudeReferenceFrame, declination: Double? = nil) throws -> DeviceMotion {
            var estimator = estimator(frame, declination: declination)
            return try #require(device.motions(from: &estimator, seconds: 0..<5).last)
        }
        let magnetic = try last(.magneticNorth)
        let toTrueNorth = try last(.trueNorth, declination: 0.2)
        #expect(toTrueNorth.referenceFrame == .trueNorth)
        // Seen from true north, magnetic north lies 0.2 rad to the east: so does everything seen from it.
        let difference = try #require(toTrueNorth.heading) - (try #require(magnetic.heading))
        #expect(abs(difference - 0.2) < 1e-9)
        // Nobody knows where true north is without the declination.
        #expect(try last(.trueNorth).referenceFrame == .magneticNorth)
    }

    @Test("in a corrected frame begins with the heading that it happens to have, and does not drift")
    func correctedFrame() throws {
        // Turned away from north, and with a drift that no rest and no inclination shows.
        let device = TurningDevice(earthField: SIMD3(15, -13, -44), gyroscopeBias: SIMD3(0, 0, 0.004), liveliness: 0)
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

    @Test("without a magnetometer says that its frame is arbitrary, and knows what is down")
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

    @Test("without a gyroscope is right for a device that is held still, and gives no rotation rate")
    func withoutGyroscope() throws {
        let device = TurningDevice(liveliness: 0.02)
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

    @Test("goes on without a gyroscope that vanishes, and with one that comes back")
    func vanishingGyroscope() throws {
        let device = TurningDevice(liveliness: 0.05)
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

    @Test("goes on without a magnetometer that vanishes, and says so")
    func vanishingMagnetometer() {
        let device = TurningDevice()
        var estimator = estimator()
        _ = device.motions(from: &estimator, seconds: 0..<10)
        let later = device.motions(from: &estimator, seconds: 10..<20, streams: [.accelerometer, .gyroscope])
        #expect(later.last?.referenceFrame == .arbitrary && later.last?.magneticField == nil)
        #expect(later.last.map { device.gravityError(of: $0) < 1 * Self.degree } == true)
    }

    @Test("finds the device's own magnetic field while it turns, and the heading is right in spite of it")
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
            #expect(length(field.field - truth) < 1.5, "\(field.field) beside \(truth)")
            #expect(device.error(of: motion) < 4 * Self.degree)
        }
        #expect(late.last?.magneticField?.accuracy == .high)
        // What it would be otherwise.
        let wrong = device.motions(from: &raw, seconds: 0..<120).suffix(2000)
        #expect(wrong.map { device.error(of: $0) }.max() ?? 0 > 10 * Self.degree)
    }

    @Test("of a device at rest never claims to know the device's own field")
    func uncalibrated() {
        let device = TurningDevice(hardIron: SIMD3(10, 10, 10), liveliness: 0)
        var estimator = estimator()
        let motions = device.motions(from: &estimator, seconds: 0..<30)
        #expect(motions.allSatisfy { $0.magneticField?.accuracy == .uncalibrated })
    }

    @Test("does not depend on how samples are cut into blocks, nor on which sensor comes first")
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

    @Test("passes over samples that go back in time, and begins anew after a gap")
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

    @Test("knows after an outage of the accelerometer what it knew of the gyroscope")
    func vanishingAccelerometer() throws {
        // Flat, and turning at a steady 1 rad/s about the vertical: nothing in it looks like movement but the rate.
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

    @Test("says nothing of an accelerometer that reads zero on all axes")
    func zeros() {
        var estimator = DeviceMotionEstimator(sensors: [.accelerometer])
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<500 as Range<Int64> {
            block.append(time: Timestamp(microseconds: index * 10_000), values: [0, 0, 0])
        }
        #expect(estimator.update(block).isEmpty)
        #expect(estimator.finish().isEmpty)
    }

    @Test("waits for no sensor that there is not")
    func absent() {
        let device = TurningDevice()
        var estimator = DeviceMotionEstimator(sensors: [.accelerometer, .gyroscope])
        let motions = device.motions(from: &estimator, seconds: 0..<1, streams: [.accelerometer, .gyroscope])
        #expect(motions.count >= 80)
    }

    @Test("knows the device's own field still after a gap, and after the clock was set back")
    func calibrationOutlasts() throws {
        let device = TurningDevice(hardIron: SIMD3(14, -22, 31))
        var estimator = estimator()
        _ = device.motions(from: &estimator, seconds: 0..<120)
        let gap = device.motions(from: &estimator, seconds: 130..<133)
        // With the first, before it could have learnt anything anew.
        #expect(gap.first?.magneticField?.accuracy ?? .uncalibrated >= .low)
        _ = estimator.finish()
        let back = device.motions(from: &estimator, seconds: 50..<53)
        let last = try #require(back.first)
        let truth = device.sample(.magnetometer, at: Double(last.timestamp.microseconds) / 1e6) - device.hardIron
        #expect(length((last.magneticField?.field ?? SIMD3(0, 0, 0)) - truth) < 2)
    }

    @Test("without calibration gives the field as it was measured")
    func asMeasured() throws {
        let device = TurningDevice(hardIron: SIMD3(14, -22, 31))
        var estimator = estimator(calibrates: false)
        let motions = device.motions(from: &estimator, seconds: 0..<60)
        let last = try #require(motions.last)
        let reading = device.sample(.magnetometer, at: Double(last.timestamp.microseconds) / 1e6)
        #expect(last.magneticField?.field == reading && last.magneticField?.accuracy == .uncalibrated)
    }

    @Test("holds no more samples than it waits for, however long it runs")
    func memory() {
        // The magnetometer is always a block behind, so no queue is ever empty.
        var merger = MotionMerger(sensors: [.accelerometer, .gyroscope, .magnetometer])
        let device = TurningDevice()
        var most = 0
        for start in stride(from: 0, to: 600_000_000, by: 100_000) as StrideTo<Int64> {
            let times = stride(from: start, to: start + 100_000, by: 20_000)
            merger.append(device.samples(.accelerometer, at: times))
            merger.append(device.samples(.gyroscope, at: times))
            merger.append(device.samples(.magnetometer, at: stride(from: start - 100_000, to: start, by: 40_000)))
            while merger.next() != nil {}
            most = max(most, merger.heldSamples)
        }
        #expect(most < 2000)
    }
}
