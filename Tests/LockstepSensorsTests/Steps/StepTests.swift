import LockstepModel
import Testing

@testable import LockstepSensors

@Suite("Steps")
struct StepTests {
    private func count(_ block: SampleBlock) -> Int {
        var counter = SimpleStepCounter()
        return block.times.indices.count { index in
            let sample = block.values(at: index)
            return counter.update(time: block.times[index], x: sample[0], y: sample[1], z: sample[2])
        }
    }

    /// The accelerometer of a simulated body over `seconds`.
    private func simulated(seed: UInt64, seconds: Int64) -> SampleBlock {
        var schedule = SimulationSchedule(body: WalkingBody(seed: seed), rate: 100, start: 0)
        var all = SampleBlock(stream: .accelerometer)
        for second in 0..<seconds {
            let block = schedule.take(through: second * 1_000_000)[0]
            for index in block.times.indices {
                all.append(time: Timestamp(microseconds: block.times[index]), values: block.values(at: index))
            }
        }
        return all
    }

    @Test("real walks are counted within a tenth on average", .enabled(if: sharedData != nil))
    func walks() async throws {
        var errors: [Double] = []
        for walk in try truthTable("walks/truth.csv") {
            let file = try #require(walk["file"])
            let truth = try #require(walk["steps"].flatMap(Double.init))
            let source = try ReplaySource(file: sharedFile("walks/\(file)"), speed: .maximum, stamping: .own)
            let counted = count(try await play(source).samples(.accelerometer))
            errors.append(abs(Double(counted) - truth) / truth)
            print("steps of \(file): \(counted) of \(Int(truth))")
        }
        let mean = errors.reduce(0, +) / Double(errors.count)
        print("mean error of steps: \(mean), worst \(errors.max() ?? 0)")
        #expect(errors.count == 15)
        #expect(mean < 0.1)
        #expect(errors.allSatisfy { $0 < 0.25 })
    }

    @Test("a simulated walk is counted within a tenth", arguments: UInt64(0)..<12)
    func simulator(seed: UInt64) {
        let truth = WalkingBody(seed: seed).steps(at: 120)
        let counted = count(simulated(seed: seed, seconds: 120))
        #expect(abs(Double(counted - truth)) <= 0.1 * Double(truth))
    }

    @Test("at rest there are no steps")
    func rest() {
        var counter = SimpleStepCounter()
        let body = WalkingBody(seed: 2)
        let steps = (0..<60_000).count { index in
            let sample = SIMD3(0, 0, -1) + 5 * WalkingBody.accelerometerNoise * body.noise(lane: 1, index: Int64(index))
            return counter.update(time: Int64(index) * 10_000, x: sample.x, y: sample.y, z: sample.z)
        }
        #expect(steps == 0)
    }

    @Test("rows are disjoint, at most one a second, and their steps are all the steps")
    func rows() {
        let samples = simulated(seed: 6, seconds: 100)
        var accumulator = StepAccumulator()
        var rows: [(start: Double, time: Int64, steps: Double, cadence: Double)] = []
        func take(_ block: SampleBlock) {
            #expect(block.stream == .steps)
            for index in block.times.indices {
                let values = block.values(at: index)
                #expect(values[2].isNaN && values[3].isNaN && values[4].isNaN)
                rows.append((values[0], block.times[index], values[1], values[5]))
            }
        }
        for index in samples.times.indices {
            var one = SampleBlock(stream: .accelerometer)
            one.append(time: Timestamp(microseconds: samples.times[index]), values: samples.values(at: index))
            take(accumulator.update(one))
        }
        take(accumulator.finish())
        let none = accumulator.finish()
        #expect(none.isEmpty)
        #expect(Int(rows.reduce(0) { $0 + $1.steps }) == count(samples))
        #expect(rows.allSatisfy { $0.steps > 0 && Double($0.time) > $0.start })
        #expect(
            zip(rows, rows.dropFirst()).allSatisfy { $1.start >= Double($0.time) && $1.time - $0.time >= 1_000_000 })
        #expect(rows.allSatisfy { abs($0.cadence - $0.steps / (Double($0.time) - $0.start) * 1e6) < 1e-9 })
    }

    @Test("a row does not reach over a pause of the samples, and repeated samples count once")
    func gaps() {
        let walk = simulated(seed: 6, seconds: 20)
        var accumulator = StepAccumulator(interval: 60_000_000)
        var rows = accumulator.update(walk)
        #expect(rows.isEmpty)
        rows = accumulator.update(walk)
        #expect(rows.isEmpty)
        var later = SampleBlock(stream: .accelerometer)
        later.append(time: Timestamp(microseconds: 3_600_000_000), values: [0, 0, -1])
        rows = accumulator.update(later)
        #expect(rows.count == 1)
        #expect(rows.times == [walk.times.last])
        #expect(rows.columns[0] == [0])
        #expect(rows.columns[1] == [Double(count(walk))])
    }
}
