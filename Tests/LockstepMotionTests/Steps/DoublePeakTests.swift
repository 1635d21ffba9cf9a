import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepMotion

/// A device that rebounds in a loose pocket causes an extra peak per stride, which must not be counted as a step.
@Suite("Double peaks")
struct DoublePeakTests {
    /// Returns the walk at 50 Hz with an extra peak half-way after every second step, of random height about `height`
    /// times the median rise of the steps.
    ///
    /// Without the cadence limiter these walks are off by 8 to 9 % on average and 49 % at worst.
    private func rebounding(_ walk: RecordedWalk, height: Double, seed: UInt64) -> SampleBlock {
        var random = SeededGenerator(seed: seed)
        let samples = walk.samples.averaged(to: 50)
        let found = steps(in: samples)
        let rise = found.map(\.rise).sorted()[found.count / 2]
        let duration = found.map { Double($0.time - $0.start) }.sorted()[found.count / 2]
        let peaks = stride(from: 0, to: found.count, by: 2).map { index in
            let offset = duration * Double.random(in: 0.45...0.55, using: &random)
            return (
                time: Double(found[index].time) + offset, height: height * rise * .random(in: 0.7...1.3, using: &random)
            )
        }
        var next = 0
        return samples.mapped { _, time, sample in
            while next + 1 < peaks.count, peaks[next + 1].time - 300_000 < Double(time) { next += 1 }
            let distance = (Double(time) - peaks[next].time) / 60_000
            return (time, sample + SIMD3(0, 0, peaks[next].height * exp(-distance * distance / 2)))
        }
    }

    @Test(
        "recorded walks with an added peak per stride are counted within 4 % on average and 10 % each",
        .enabled(if: sharedData != nil))
    func recorded() throws {
        let walks = try RecordedWalk.walks.get()
        for height in [1.6, 2.0] {
            let errors = walks.enumerated().map { index, walk in
                let count = steps(in: rebounding(walk, height: height, seed: UInt64(index))).count
                return Double(count - walk.steps) / Double(walk.steps)
            }
            let mean = errors.reduce(0) { $0 + abs($1) } / Double(errors.count)
            let worst = errors.max { abs($0) < abs($1) } ?? .infinity
            print("walks with rebounds of \(height): mean error \(mean), worst \(worst)")
            #expect(mean < 0.04 && abs(worst) < 0.1)
        }
    }

    /// Returns a walk whose magnitude has a component with three peaks per stride in addition to the steps.
    private func simulated(cadence: Double, third: Double, phase: Double) -> SampleBlock {
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<4000 as Range<Int64> {
            let angle = 2 * .pi * cadence * Double(index) / 50
            let swing = 0.25 * cos(angle) + 0.06 * cos(angle / 2) + third * cos(1.5 * angle + phase)
            block.append(time: Timestamp(microseconds: index * 20_000), values: [0, 0, -1 - swing])
        }
        return block
    }

    @Test("three peaks per stride are two steps", arguments: [1.7, 1.8, 1.9, 2.0], [0.0, 1, 2, 3])
    func simulated(cadence: Double, phase: Double) {
        let count = steps(in: simulated(cadence: cadence, third: 0.45, phase: phase)).count
        #expect(abs(Double(count) / (80 * cadence) - 1) < 0.05, "\(count) of \(80 * cadence)")
    }

    @Test("the limiter passes two swings per stride, however the stride is divided")
    func limiter() {
        func accepted(_ parts: [Double], period: Double?) -> Int {
            var limiter = CadenceLimiter()
            var time = 0.0
            return (0..<300).count { index in
                time += parts[index % parts.count] * 1.1e6
                return limiter.accepts(at: Int64(time), period: period)
            }
        }
        #expect((198...208).contains(accepted([1 / 3.0, 1 / 3.0, 1 / 3.0], period: 1.1)))
        #expect((198...208).contains(accepted([0.25, 0.25, 0.5], period: 1.1)))
        #expect(accepted([0.5, 0.5], period: 1.1) == 300)
        #expect(accepted([0.4, 0.6], period: 1.1) == 300)
        // An error of 2 % of the period costs no step.
        #expect(accepted([0.5, 0.5], period: 1.12) == 300)
        // The period of a single step, of several strides, or none.
        for period in [0.4, 2.2, nil] { #expect(accepted([1 / 3.0, 1 / 3.0, 1 / 3.0], period: period) == 300) }
    }

    @Test("the fundamental period is that of the stride if the feet differ, and of the step if they do not")
    func period() throws {
        func period(asymmetry: Double) throws -> Double {
            var periodicity = Periodicity(seconds: 5.05)
            for index in 0..<500 {
                let angle = 2 * .pi * 1.8 * Double(index) / 50
                periodicity.update(cos(angle) + asymmetry * cos(angle / 2 + 1))
            }
            return try #require(periodicity.fundamentalPeriod)
        }
        #expect(abs(try period(asymmetry: 1) - 1 / 0.9) < 0.01)
        #expect(abs(try period(asymmetry: 0.1) - 1 / 1.8) < 0.01)
    }
}
