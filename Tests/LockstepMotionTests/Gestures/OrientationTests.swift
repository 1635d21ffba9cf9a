import Glibc
import LockstepModel
import LockstepMotion
import LockstepSensors
import Testing

@Suite("Device orientation")
struct OrientationTests {
    private let start: Int64 = 1_700_000_000_000_000

    /// Returns samples at 50 Hz: gravity moves to each direction in a second and stays there for two.
    private func held(_ directions: [SIMD3<Double>], noise: Double = 0, seed: UInt64 = 1) -> SampleBlock {
        var generator = SeededGenerator(seed: seed)
        var block = SampleBlock(stream: .accelerometer)
        var time = start
        for (index, direction) in directions.enumerated() {
            let before = index > 0 ? directions[index - 1] : direction
            for step in 0..<150 {
                let part = min(1, Double(step) / 50)
                var gravity = before * (1 - part) + direction * part
                gravity /= (gravity * gravity).sum().squareRoot()
                if noise > 0 {
                    gravity += SIMD3(
                        Double.random(in: -noise...noise, using: &generator),
                        Double.random(in: -noise...noise, using: &generator),
                        Double.random(in: -noise...noise, using: &generator))
                }
                block.append(time: Timestamp(microseconds: time), values: [gravity.x, gravity.y, gravity.z])
                time += 20_000
            }
        }
        return block
    }

    private func orientations(_ block: SampleBlock) -> [DeviceOrientation] {
        var detector = OrientationDetector()
        return detector.update(block).columns[0].compactMap(DeviceOrientation.init(streamValue:))
    }

    /// Returns gravity for a device that is rotated from portrait by an angle, counterclockwise for its viewer, and
    /// tilted back.
    private func turned(_ degrees: Double, tiltedBack tilt: Double = 0) -> SIMD3<Double> {
        let angle = degrees * .pi / 180
        let back = tilt * .pi / 180
        return SIMD3(-sin(angle) * cos(back), -cos(angle) * cos(back), -sin(back))
    }

    @Test("the orientations are the choices of the stream, in the same order")
    func words() throws {
        let column = SensorStream.orientation.columns[0]
        #expect(column.kind == .choice(DeviceOrientation.allCases.map(\.rawValue)))
        for (index, orientation) in DeviceOrientation.allCases.enumerated() {
            #expect(orientation.streamValue == Double(index))
            #expect(DeviceOrientation(streamValue: Double(index)) == orientation)
        }
        #expect(DeviceOrientation(streamValue: 6) == nil)
        #expect(DeviceOrientation(streamValue: .nan) == nil)
    }

    @Test("each of the six orientations is detected from the direction of gravity")
    func six() {
        let directions: [(SIMD3<Double>, DeviceOrientation)] = [
            (SIMD3(0, -1, 0), .portrait), (SIMD3(-1, 0, 0), .landscapeLeft), (SIMD3(0, 1, 0), .portraitUpsideDown),
            (SIMD3(1, 0, 0), .landscapeRight), (SIMD3(0, 0, -1), .faceUp), (SIMD3(0, -1, 0), .portrait),
            (SIMD3(0, 0, 1), .faceDown),
        ]
        let detected = orientations(held(directions.map(\.0), noise: 0.05))
        #expect(detected == directions.map(\.1))
    }

    @Test("a device rotated counterclockwise from portrait, with its top edge to the left, is in landscapeLeft")
    func counterclockwise() {
        let detected = orientations(held([turned(0), turned(90), turned(0), turned(-90)]))
        #expect(detected == [.portrait, .landscapeLeft, .portrait, .landscapeRight])
    }

    @Test("a device tilted back for reading can be rotated to landscape")
    func tiltedBack() {
        let detected = orientations(held([turned(0), turned(0, tiltedBack: 45), turned(90, tiltedBack: 45)]))
        #expect(detected == [.portrait, .landscapeLeft])
    }

    @Test("between two orientations the previous one is kept, despite noise")
    func hysteresis() {
        let there = orientations(held([turned(0), turned(45), turned(45), turned(45)], noise: 0.1))
        #expect(there == [.portrait])
        let back = orientations(held([turned(90), turned(45), turned(45), turned(45)], noise: 0.1))
        #expect(back == [.landscapeLeft])
        // At 35° off flat, a flat device remains flat, but another one does not become flat.
        let raised = orientations(held([turned(0, tiltedBack: 90), turned(0, tiltedBack: 55)]))
        #expect(raised == [.faceUp])
        let lowered = orientations(held([turned(0), turned(0, tiltedBack: 55)]))
        #expect(lowered == [.portrait])
        let far = orientations(held([turned(0, tiltedBack: 90), turned(0, tiltedBack: 45)]))
        #expect(far == [.faceUp, .portrait])
    }

    @Test("a short orientation is not reported, and none is reported twice")
    func dwell() {
        var block = held([turned(0)])
        let last = block.times.last ?? 0
        for index in 1...10 {
            block.append(time: Timestamp(microseconds: last + Int64(index) * 20_000), values: [-1, 0, 0])
        }
        for index in 11...100 {
            block.append(time: Timestamp(microseconds: last + Int64(index) * 20_000), values: [0, -1, 0])
        }
        // Without the low-pass filter, so that only the dwell time decides.
        var thresholds = OrientationDetector.Thresholds()
        thresholds.cutOff = 1000
        var detector = OrientationDetector(thresholds: thresholds)
        let detected = detector.update(block).columns[0].compactMap(DeviceOrientation.init(streamValue:))
        #expect(detected == [.portrait])
        thresholds.dwell = 100_000
        var hasty = OrientationDetector(thresholds: thresholds)
        let hastily = hasty.update(block).columns[0].compactMap(DeviceOrientation.init(streamValue:))
        #expect(hastily == [.portrait, .landscapeLeft, .portrait])
    }

    @Test("free fall and hard knocks are ignored")
    func notGravity() {
        var block = held([turned(0)])
        let last = block.times.last ?? 0
        for index in 1...100 {
            let knock: [Double] = index % 2 == 0 ? [0, 0, 0.02] : [2.5, 0, 0]
            block.append(time: Timestamp(microseconds: last + Int64(index) * 20_000), values: knock)
        }
        let detected = orientations(block)
        #expect(detected == [.portrait])
    }

    @Test("a change is reported within a second, with the time of a sample")
    func promptness() {
        let block = held([SIMD3(0, -1, 0), SIMD3(0, -1, 0)])
        let turn = (block.times.last ?? 0) + 20_000
        var samples = block
        for index in 0..<100 {
            samples.append(time: Timestamp(microseconds: turn + Int64(index) * 20_000), values: [1, 0, 0])
        }
        var detector = OrientationDetector()
        let rows = detector.update(samples)
        #expect(rows.count == 2)
        #expect(rows.times[0] - start < 500_000)
        #expect((turn..<(turn + 1_000_000)).contains(rows.times[1]))
        #expect(Set(rows.times).isSubset(of: samples.times))
        #expect(rows.isComplete)
    }

    @Test("a rate of 1 Hz suffices, and samples with repeated times are ignored")
    func slow() {
        var detector = OrientationDetector()
        var detected: [DeviceOrientation] = []
        for index in 0..<20 {
            let x = index < 10 ? 0.0 : 1
            let time = start + Int64(index) * 1_010_000
            if let change = detector.update(time: time, x: x, y: x - 1, z: 0) { detected.append(change) }
            let repeated = detector.update(time: time, x: 0, y: 0, z: 1)
            #expect(repeated == nil)
        }
        #expect(detected == [.portrait, .landscapeRight])
    }
}
