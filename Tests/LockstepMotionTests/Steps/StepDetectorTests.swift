import Glibc
import LockstepModel
import SensorTestSupport
import Testing

@testable import LockstepMotion
@testable import LockstepSensors

@Suite("Step detector")
struct StepDetectorTests {
    @Test("simulated walks are counted within one step per walk", arguments: UInt64(0)..<12)
    func simulator(seed: UInt64) {
        let body = WalkingBody(seed: seed)
        let seconds = Int64(4 * body.pace.cycle)
        let truth = body.steps(at: Double(seconds))
        let count = steps(in: simulated(seed: seed, seconds: seconds)).count
        #expect(abs(count - truth) <= 4, "\(count) of \(truth)")
    }

    @Test("steps are reported in order, with their own times, each starting at the previous step")
    func times() throws {
        let body = WalkingBody(seed: 4)
        let found = steps(in: simulated(seed: 4, seconds: 25))
        try #require(found.count > 20)
        for (step, next) in zip(found, found.dropFirst()) {
            #expect(step.start < step.time && step.time < next.time && next.start == step.time)
        }
        // The number of steps found by any time differs from the truth by at most two.
        for (index, step) in found.enumerated() {
            #expect(abs(body.steps(at: Double(step.time) / 1e6) - (index + 1)) <= 2)
        }
    }

    @Test("the rate of the sensor has no effect", arguments: [20.0, 25, 31, 50, 104, 208, 500])
    func rates(rate: Double) {
        let reference = steps(in: simulated(seed: 5, seconds: 66)).map(\.time)
        let found = steps(in: simulated(seed: 5, seconds: 66, rate: rate)).map(\.time)
        #expect(abs(found.count - reference.count) <= 1)
        #expect(found.count > 80)
    }

    @Test("jitter and single missing samples have no effect")
    func jitter() {
        let walk = simulated(seed: 6, seconds: 66)
        let reference = steps(in: walk).count
        let body = WalkingBody(seed: 6)
        var random = SeededGenerator(seed: 1)
        let uneven = walk.mapped { _, time, _ in
            let late = time + Int64.random(in: 0...9_000, using: &random)
            // Read the sensor at the jittered time, and lose a fifth of the samples.
            return Int.random(in: 0..<5, using: &random) == 0 ? nil : (late, body.accelerometer(at: Double(late) / 1e6))
        }
        #expect(uneven.count < walk.count * 9 / 10)
        #expect(abs(steps(in: uneven).count - reference) <= 1)
    }

    @Test("a gap of half a second loses no step, and a gap of more than a second restarts the detector")
    func gaps() {
        let walk = simulated(seed: 7, seconds: 28)
        let whole = steps(in: walk)
        let short = steps(in: walk.without(15_000_000..<15_500_000))
        #expect(abs(short.count - whole.count) <= 1)
        let pause: Range<Int64> = 15_000_000..<16_200_000
        let long = steps(in: walk.without(pause))
        let lost = whole.count { pause.contains($0.time) }
        #expect(lost >= 2)
        #expect(abs(long.count - (whole.count - lost)) <= 2)
        #expect(!long.contains { $0.start < pause.lowerBound && $0.time > pause.upperBound })
    }

    @Test("the resampler averages the linear interpolation and restarts after a second")
    func grid() {
        var grid = AccelerationResampler()
        let first = grid.add(time: 5, x: 0, y: 0, z: 1)
        let second = grid.add(time: 30_005, x: 0, y: 0, z: 4)
        let cell = grid.next()
        let rest = grid.next()
        #expect(first == .starts && second == .continues)
        #expect(cell == SIMD4(0, 0, 2, 2) && rest == nil && grid.time == 20_005)
        let third = grid.add(time: 40_005, x: 0, y: 0, z: 4)
        let next = grid.next()
        #expect(third == .continues && next == SIMD4(0, 0, 3.75, 3.75))
        let longest = grid.add(time: 1_040_005, x: 0, y: 0, z: 1)
        #expect(longest == .continues)
        let tooLong = grid.add(time: 2_040_006, x: 0, y: 0, z: 1)
        #expect(tooLong == .starts)
        let none = grid.next()
        #expect(none == nil)
    }

    @Test("repeated, out-of-order and non-finite samples are ignored")
    func disorder() {
        let walk = simulated(seed: 8, seconds: 30)
        var detector = StepDetector()
        var found: [Step] = []
        for (index, time) in walk.times.enumerated() {
            let (x, y, z) = (walk.columns[0][index], walk.columns[1][index], walk.columns[2][index])
            detector.update(time: time, x: x, y: y, z: z, into: &found)
            detector.update(time: time, x: 3, y: 0, z: 0, into: &found)
            detector.update(time: time - 700_000, x: 0, y: 5, z: 0, into: &found)
            detector.update(time: .min, x: 0, y: 5, z: 0, into: &found)
            detector.update(time: time + 1, x: .nan, y: 0, z: .infinity, into: &found)
        }
        #expect(found == steps(in: walk))
        #expect(found.count > 30)
    }

    @Test("extreme times do not overflow")
    func extremes() {
        var detector = StepDetector()
        var found: [Step] = []
        for time in [Int64.min, -(1 << 62) + 1, -1, 0, (1 << 62) - 1, .max] {
            detector.update(time: time, x: 0, y: 0, z: 1, into: &found)
        }
        #expect(found.isEmpty)
    }

    @Test("a sensor at rest with five times its noise yields no steps")
    func rest() {
        let body = WalkingBody(seed: 2)
        var resting = SampleBlock(stream: .accelerometer)
        for index in 0..<60_000 as Range<Int64> {
            let sample = SIMD3(0, 0, -1) + 5 * WalkingBody.accelerometerNoise * body.noise(lane: 1, index: index)
            resting.append(time: Timestamp(microseconds: index * 10_000), values: [sample.x, sample.y, sample.z])
        }
        #expect(steps(in: resting).isEmpty)
    }

    /// Returns samples of a device at rest, with bumps of 0.6 g and 0.3 s duration at `times` in s.
    private func bumps(at times: [Double], seconds: Double) -> SampleBlock {
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<Int64(seconds * 50) {
            let time = Double(index) / 50
            let bump = times.reduce(0) { sum, start in
                let part = (time - start) / 0.3
                return (0...1).contains(part) ? sum + 0.3 * (1 - cos(2 * .pi * part)) : sum
            }
            block.append(time: Timestamp(microseconds: index * 20_000), values: [0, 0, -1 - bump])
        }
        return block
    }

    @Test("a walk ends when no step follows")
    func end() {
        var detector = StepDetector()
        var found: [Step] = []
        let walk = bumps(at: (0..<20).map { 5 + 0.55 * Double($0) }, seconds: 30)
        var walking: [Int64] = []
        for (index, time) in walk.times.enumerated() {
            detector.update(time: time, x: 0, y: 0, z: walk.columns[2][index], into: &found)
            if detector.isWalking { walking.append(time) }
        }
        #expect((15_000_000...18_000_000).contains(walking.last ?? 0))
    }

    @Test("a shake, occasional knocks and a few steps are not a walk")
    func bumps() {
        let shake = bumps(at: [10, 10.3, 10.6, 10.9], seconds: 30)
        #expect(steps(in: shake).isEmpty)
        let knocks = bumps(at: Array(stride(from: 5, to: 120, by: 4)), seconds: 120)
        #expect(steps(in: knocks).isEmpty)
        let few = bumps(at: [10, 10.5, 11, 11.5, 12], seconds: 30)
        #expect(steps(in: few).isEmpty)
    }

    @Test("regular bumps are a walk, also when strong and weak ones alternate")
    func pace() {
        let even = bumps(at: (0..<40).map { 5 + 0.55 * Double($0) }, seconds: 40)
        #expect(abs(steps(in: even).count - 40) <= 1)
        let strong = bumps(at: (0..<20).map { 5 + 1.1 * Double($0) }, seconds: 40)
        let weak = bumps(at: (0..<20).map { 5.55 + 1.1 * Double($0) }, seconds: 40)
        let both = strong.mapped { index, time, sample in
            (time, sample + SIMD3(0, 0, (weak.columns[2][index] + 1) * 0.4))
        }
        #expect(abs(steps(in: both).count - 40) <= 1)
    }
}
