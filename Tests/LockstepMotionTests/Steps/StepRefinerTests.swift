import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepMotion

/// Steps with hindsight, against the counted steps of recordings and simulated bodies.
@Suite("Steps with hindsight")
struct StepRefinerTests {
    private func refined(_ samples: SampleBlock, options: PedometerOptions = PedometerOptions()) -> [RefinedStep] {
        var refiner = StepRefiner(options: options)
        return refiner.update(samples) + refiner.finish()
    }

    @Test(
        "recorded walks are counted within 1.5 % on average, better than live, and none worse",
        .enabled(if: sharedData != nil))
    func walks() throws {
        var (sum, liveSum) = (0.0, 0.0)
        let walks = try RecordedWalk.walks.get()
        for walk in walks {
            let live = steps(in: walk.samples).count
            let found = refined(walk.samples).count
            let (error, liveError) = (abs(found - walk.steps), abs(live - walk.steps))
            print("refined steps of \(walk.name): \(found) of \(walk.steps), live \(live)")
            #expect(error <= liveError, "\(walk.name)")
            sum += Double(error) / Double(walk.steps)
            liveSum += Double(liveError) / Double(walk.steps)
        }
        print("refined: mean error \(sum / Double(walks.count)), live \(liveSum / Double(walks.count))")
        #expect(sum / Double(walks.count) <= 0.015 && sum < liveSum)
    }

    @Test(
        "walks with a sensor on the wrist are counted within 5 %, desk work has no steps",
        .enabled(if: sharedData != nil))
    func wrist() throws {
        for recording in try RecordedWalk.wrist.get() {
            let found = refined(recording.samples).count
            print("refined steps of \(recording.name): \(found) of \(recording.steps)")
            #expect(abs(Double(found - recording.steps)) <= 0.05 * Double(recording.steps), "\(recording.name)")
        }
    }

    @Test("steps, times and distances of simulated bodies agree with the truth", arguments: [3 as UInt64, 11, 19])
    func simulation(seed: UInt64) throws {
        let body = WalkingBody(seed: seed)
        let found = refined(
            simulated(seed: seed, seconds: 120), options: PedometerOptions(stepLength: body.person.stepLength))
        let truth = body.steps(at: 120)
        #expect(abs(found.count - truth) <= 3, "\(found.count) of \(truth)")
        #expect(Set(found.map(\.walk)).count == 4)
        let distance = found.reduce(0) { $0 + $1.length }
        #expect(abs(distance / body.distance(at: 120) - 1) < 0.02)
        // At full stride each step is at the same phase of the gait.
        let phases = found.compactMap { step -> Double? in
            let (cycle, local) = body.pace.split(Double(step.time) / 1e6)
            guard body.pace.envelope(local) > 0.999 else { return nil }
            return Double(cycle * body.pace.stepsPerCycle) + body.pace.phase(local)
        }
        // The mean direction on the circle of phases.
        let mean =
            atan2(
                phases.reduce(0) { $0 + sin(2 * .pi * $1) }, phases.reduce(0) { $0 + cos(2 * .pi * $1) }) / (2 * .pi)
        let deviations = phases.map { ($0 - mean) - ($0 - mean).rounded() }
        let spread = (deviations.reduce(0) { $0 + $1 * $1 } / Double(deviations.count)).squareRoot()
        print("phase of steps: \(mean) ± \(spread) of a step")
        #expect(spread < 0.03 && deviations.count > 150)
    }

    @Test("a second peak within a step is removed, and irregular steps are kept")
    func outliers() {
        func selection(_ seconds: [Double]) -> [Double] {
            StepSequence().selection(of: seconds.map { StepSequence.Candidate(time: Int64(($0 * 1e6).rounded())) })
                .map { Double($0) / 1e6 }
        }
        let regular = (0..<40).map { 0.5 * Double($0) }
        #expect(selection(regular) == regular)
        #expect(selection((regular + [9.78]).sorted()) == regular)
        // A missed step and a pause stay.
        let gaps = regular.filter { $0 != 7 && !(11..<13).contains($0) }
        #expect(selection(gaps) == gaps)
        // Slow, irregular steps of a sensor on the wrist.
        var generator = TestGenerator(state: 3)
        var time = 0.0
        let irregular = (0..<40).map { _ -> Double in
            time += exp(0.35 * generator.normal())
            return (time * 1e6).rounded() / 1e6
        }
        #expect(selection(irregular).count >= 37)
    }

    @Test("a walk without end is returned in parts, and a recording in blocks gives the same steps")
    func parts() {
        let minute = simulated(seed: 5, seconds: 60, rate: 50)
        let whole = refined(minute)
        var refiner = StepRefiner()
        var split: [RefinedStep] = []
        for index in minute.times.indices {
            split += refiner.update(
                time: minute.times[index], x: minute.columns[0][index], y: minute.columns[1][index],
                z: minute.columns[2][index])
        }
        #expect(split + refiner.finish() == whole && !whole.isEmpty)
        // An endless walk at two steps/s.
        var endless = StepRefiner()
        var (returned, firstAt) = (0, 0)
        for index in 0..<70_000 {
            let steps = endless.update(
                time: Int64(index) * 20_000, x: 0, y: 0, z: 1 + 0.3 * cos(0.08 * .pi * Double(index)))
            returned += steps.count
            if returned > 0, firstAt == 0 { firstAt = index }
        }
        #expect(firstAt > 0 && firstAt <= 60_010)
        #expect(abs(returned + endless.finish().count - 2800) <= 2)
    }

    @Test("where a walk without end is cut, the times of the steps are those without a cut")
    func cut() throws {
        var generator = TestGenerator(state: 23)
        let values = (0..<63_000).map { index -> Double in
            let phase = 0.08 * .pi * Double(index)
            return 1 + 0.3 * cos(phase) + 0.1 * cos(phase / 2 + 0.5) + 0.02 * generator.normal()
        }
        func times(from first: Int) -> [Int64] {
            var refiner = StepRefiner()
            let found = (first..<values.count).flatMap { index in
                refiner.update(time: Int64(index) * 20_000, x: 0, y: 0, z: values[index])
            }
            // Around the cut after 60,000 values.
            return (found + refiner.finish()).map(\.time).filter { (1_180_000_000..<1_220_000_000).contains($0) }
        }
        // The other run is too short for a cut.
        let (cut, whole) = (times(from: 0), times(from: 40_000))
        try #require(cut.count == whole.count && cut.count == 80)
        let largest = zip(cut, whole).map { abs($0 - $1) }.max() ?? 0
        print("largest difference of the time of a step at a cut: \(largest) µs")
        #expect(largest < 100)
    }

    @Test("the gait of simulated strides is measured with the stated error")
    func gait() throws {
        for (variation, symmetry) in [(0.0, 1.0), (0.02, 0.95), (0.05, 0.9)] {
            var generator = TestGenerator(state: 17)
            var times = [5.0]
            for index in 0..<400 {
                let share = index % 2 == 0 ? 1 / (1 + symmetry) : symmetry / (1 + symmetry)
                // Both steps of a stride vary independently, so each by √2 of the stride's variation.
                times.append(times[index] + 1.1 * share * (1 + variation * 2.0.squareRoot() * generator.normal()))
            }
            var samples = SampleBlock(stream: .accelerometer)
            var next = 1
            for index in 0..<Int((times[400] + 5) * 100) {
                let time = Double(index) / 100
                while next < 400, times[next] < time { next += 1 }
                let phase = (time - times[next - 1]) / (times[next] - times[next - 1])
                let moves = time >= times[0] && time <= times[400]
                let value = moves ? 0.3 * cos(2 * .pi * phase) : 0
                samples.append(
                    time: Timestamp(microseconds: Int64(index) * 10_000),
                    values: [0.01 * generator.normal(), 0, -1 - value + 0.01 * generator.normal()])
            }
            let gait = try #require(GaitAnalysis(refined(samples)))
            let strides = (2...400).map { times[$0] - times[$0 - 2] }
            let mean = strides.reduce(0, +) / Double(strides.count)
            let deviation =
                (strides.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(strides.count - 1)).squareRoot()
            print(
                "gait: stride \(gait.strideTime) of \(mean) s, variation \(gait.strideVariation) of "
                    + "\(deviation / mean), symmetry \(gait.stepSymmetry ?? .nan) of \(symmetry)")
            #expect(abs(gait.strideTime / mean - 1) < 0.003)
            #expect(abs(gait.cadence / (2 / mean) - 1) < 0.003)
            #expect(abs(gait.strideVariation - deviation / mean) < 0.003)
            #expect(abs(try #require(gait.stepSymmetry) - symmetry) < 0.02)
        }
        #expect(GaitAnalysis([]) == nil)
    }

    @Test(
        "the symmetry of short walks is hardly biased, and has the stated error",
        arguments: [(20, 1, 0.06), (20, 40, 0.025), (400, 1, 0.015)])
    func shortWalks(steps: Int, walks: Int, error: Double) throws {
        var generator = TestGenerator(state: 5)
        // A symmetric gait, and one with a slower foot; strides vary by 5 %.
        for symmetry in [1, 0.9] {
            var errors: [Double] = []
            for _ in 0..<100 {
                var found: [RefinedStep] = []
                var time: Int64 = 0
                for walk in 0..<walks {
                    time += 10_000_000
                    let start = time
                    for index in 0...steps {
                        let share = (index + walk) % 2 == 0 ? 1 / (1 + symmetry) : symmetry / (1 + symmetry)
                        let duration = 1.1 * share * (1 + 0.05 * 2.0.squareRoot() * generator.normal())
                        let end = time + Int64(duration * 1e6)
                        found.append(RefinedStep(time: end, start: time, walk: start))
                        time = end
                    }
                }
                let gait = try #require(GaitAnalysis(found))
                errors.append(try #require(gait.stepSymmetry) - symmetry)
            }
            let bias = errors.reduce(0, +) / Double(errors.count)
            let largest = errors.map(abs).sorted()[94]
            print("symmetry \(symmetry), \(walks) walks of \(steps) steps: bias \(bias), 95 % within \(largest)")
            #expect(abs(bias) < 0.01 && largest < error)
        }
    }
}
