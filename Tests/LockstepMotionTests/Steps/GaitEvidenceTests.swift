import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepMotion

/// Simulated movements that are periodic like gait, or are gait although half of its steps make no peak.
@Suite("Gait and what resembles it")
struct GaitEvidenceTests {
    /// Returns a minute of samples: the acceleration without gravity, in g, as a function of time in s, with noise.
    private func moving(rate: Double = 50, noise: Double = 0.02, _ acceleration: (Double) -> SIMD3<Double>)
        -> SampleBlock
    {
        var random = SeededGenerator(seed: 3)
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<Int(60 * rate) {
            let time = Double(index) / rate
            let value = acceleration(time) + SIMD3(0, 0, -1)
            let values = [value.x, value.y, value.z].map { $0 + Double.random(in: -noise...noise, using: &random) }
            block.append(time: Timestamp(microseconds: Int64(time * 1e6)), values: values)
        }
        return block
    }

    /// The acceleration of an arm or a leg that swings with a frequency in Hz.
    private func swing(_ time: Double, _ frequency: Double, along: Double, across: Double) -> SIMD3<Double> {
        let angle = 2 * .pi * frequency * time
        return SIMD3(across * cos(angle + 0.8), 0, along * cos(angle))
    }

    /// The ringing of impacts of feet, in g.
    private func impacts(_ time: Double, _ frequency: Double) -> Double {
        let part = (time * frequency).truncatingRemainder(dividingBy: 1) / frequency
        return 0.25 * exp(-part / 0.06) * sin(2 * .pi * 7 * part)
    }

    @Test(
        "an arm that swings once per stride makes two steps per stride", arguments: [0.8, 0.95, 1.1], [12.5, 25, 50])
    func arm(stride: Double, rate: Double) {
        let walk = moving(rate: rate) { time in
            swing(time, stride, along: 0.3, across: 0.35) + SIMD3(0, 0, impacts(time, stride))
        }
        let count = steps(in: walk).count
        #expect(abs(Double(count) / (120 * stride) - 1) < 0.06, "\(count) of \(120 * stride)")
    }

    @Test("pedals are not feet", arguments: [0.9, 1.1, 1.3])
    func pedals(turns: Double) {
        let cycling = moving(noise: 0.2) { swing($0, turns, along: 0.35, across: 0.25) }
        #expect(steps(in: cycling).isEmpty)
    }

    @Test("a weak, irregular movement is gait if it has short peaks, and not if it has short dips")
    func irregular() {
        var random = SeededGenerator(seed: 8)
        var times = [0.0]
        for _ in 0..<85 { times.append((times.last ?? 0) + Double.random(in: 0.4...1, using: &random)) }
        func count(_ sign: Double) -> Int {
            let movement = moving(noise: 0.01) { time in
                SIMD3(0, 0, sign * times.reduce(0) { $0 + 0.25 * exp(-pow((time - $1) / 0.1, 2)) })
            }
            return steps(in: movement).count
        }
        let (dips, peaks) = (count(1), count(-1))
        #expect(dips <= 40 && peaks > 60, "\(dips) and \(peaks)")
    }

    @Test("movements across gravity, such as clapping and steering, are not steps", arguments: [0.8, 1.5, 2.1])
    func across(frequency: Double) {
        let clapping = moving { swing($0, frequency, along: 0.2, across: 0.6) }
        #expect(steps(in: clapping).isEmpty)
    }

    @Test("a shake is no walk, and neither is the vibration of a vehicle", arguments: [4.0, 5, 6])
    func vibration(frequency: Double) {
        let shake = moving { swing($0, frequency, along: 1, across: 0.8) }
        #expect(steps(in: shake).count <= 12)
        let vehicle = moving { swing($0, 1.4, along: 0.05, across: 0.02) }
        #expect(steps(in: vehicle).isEmpty)
    }

    @Test("a missed step is found only if the signal shows strides")
    func missed() {
        func missing(_ stride: Double, peaks: (Double) -> Double) -> Int {
            var periodicity = Periodicity(seconds: 5.05)
            for index in 0..<500 { periodicity.update(peaks(2 * .pi * Double(index) / 50 / stride)) }
            var missed = MissedSteps()
            return (0..<20).reduce(0) { sum, _ in sum + missed.before(stride, periodicity) }
        }
        #expect((19...20).contains(missing(1) { cos($0) }))
        // The steps of a slow walk: short peaks with pauses.
        #expect(missing(1) { pow(max(cos($0), 0), 9) - 0.12 } == 0)
        #expect(missing(0.5) { cos($0) } == 0)
    }
}
