import LockstepModel
import SensorTestSupport
import Testing

@testable import LockstepMotion
@testable import LockstepSensors

@Suite("Pedometer")
struct PedometerEstimatorTests {
    private struct Row {
        var start: Int64
        var time: Int64
        var steps: Int
        var values: [Double]
        var distance: Double { values[2] }
        var pace: Double { values[3] }
        var averagePace: Double { values[4] }
        var cadence: Double { values[5] }
        var seconds: Double { Double(time - start) / 1e6 }
    }

    private func rows(_ block: SampleBlock) -> [Row] {
        block.times.indices.map { index in
            let values = block.values(at: index)
            return Row(start: Int64(values[0]), time: block.times[index], steps: Int(values[1]), values: values)
        }
    }

    /// Returns the rows for all samples, processed in blocks of `size`.
    private func estimate(
        _ samples: SampleBlock, _ options: PedometerOptions = PedometerOptions(), interval: Int64 = 1_000_000,
        size: Int = 50
    ) -> [Row] {
        var estimator = PedometerEstimator(options: options, interval: interval)
        var all: [Row] = []
        for first in stride(from: 0, to: samples.count, by: size) {
            all += rows(estimator.update(samples.part(first..<min(first + size, samples.count))))
        }
        return all + rows(estimator.finish())
    }

    @Test("rows are disjoint and in order, cover the steps they count, and count all steps", arguments: UInt64(0)..<6)
    func rows(seed: UInt64) {
        let samples = simulated(seed: seed, seconds: 100)
        let found = steps(in: samples)
        let rows = estimate(samples)
        #expect(rows.count > 30)
        for row in rows {
            #expect(row.start < row.time && row.steps > 0)
            #expect(row.steps == found.count { $0.time > row.start && $0.time <= row.time })
        }
        for (row, next) in zip(rows, rows.dropFirst()) { #expect(next.start >= row.time) }
        #expect(rows.reduce(0) { $0 + $1.steps } == found.count)
        // A row is short only at the end of a walk; there are three or four walks.
        #expect(rows.count { $0.seconds < 1 } <= 4)
    }

    @Test("the first steps of a walk are reported late, in rows at the time when they were taken")
    func retroactive() throws {
        let body = WalkingBody(seed: 3)
        var estimator = PedometerEstimator()
        let samples = simulated(seed: 3, seconds: 30)
        for index in samples.times.indices {
            let first = rows(estimator.update(samples.part(index..<index + 1)))
            guard let row = first.first else { continue }
            let now = samples.times[index]
            #expect(first.count >= 3)
            #expect(now - row.start >= 3_000_000)
            #expect(body.steps(at: Double(row.start) / 1e6) <= 1)
            let last = try #require(first.last)
            #expect(now - last.time <= 1_500_000)
            return
        }
        Issue.record("no row in 30 s")
    }

    @Test("the division of samples into blocks has no effect")
    func blocks() {
        let samples = simulated(seed: 9, seconds: 70)
        let whole = estimate(samples, size: samples.count)
        #expect(whole.count > 30)
        for size in [1, 7, 333] {
            #expect(estimate(samples, size: size).map(\.values.description) == whole.map(\.values.description))
        }
    }

    @Test("a long interval yields one row per walk, soon after its end")
    func longInterval() {
        let body = WalkingBody(seed: 3)
        let samples = simulated(seed: 3, seconds: Int64(2 * body.pace.cycle) + 4)
        var estimator = PedometerEstimator(interval: 60_000_000)
        let rows = self.rows(estimator.update(samples))
        #expect(rows.count == 2)
        for row in rows { #expect(abs(row.steps - body.pace.stepsPerCycle) <= 1) }
    }

    @Test("the last steps of a walk do not wait for the next walk")
    func ending() {
        let body = WalkingBody(seed: 3)
        var estimator = PedometerEstimator()
        let rows = estimator.update(simulated(seed: 3, seconds: Int64(body.pace.cycle) + 3))
        let rest = estimator.finish()
        #expect(rest.isEmpty)
        #expect(abs(rows.columns[1].reduce(0, +) - Double(body.pace.stepsPerCycle)) <= 1)
    }

    @Test("repeated samples count once, and counting restarts after a gap")
    func gaps() {
        let walk = simulated(seed: 6, seconds: 28)
        var estimator = PedometerEstimator()
        var rows = self.rows(estimator.update(walk))
        rows += self.rows(estimator.update(walk))
        let later = walk.mapped { _, time, sample in (time + 100_000_000, sample) }
        rows += self.rows(estimator.update(later))
        rows += self.rows(estimator.finish())
        #expect(rows.reduce(0) { $0 + $1.steps } == 2 * steps(in: walk).count)
        #expect(!rows.contains { $0.start < 30_000_000 && $0.time > 30_000_000 })
    }

    @Test("rows do not go backward if time goes backward after finish()")
    func backward() throws {
        let walk = simulated(seed: 6, seconds: 28)
        var estimator = PedometerEstimator()
        let first = rows(estimator.update(walk)) + rows(estimator.finish())
        let again = rows(estimator.update(walk)) + rows(estimator.finish())
        #expect(again.isEmpty)
        let later = rows(estimator.update(walk.mapped { _, time, sample in (time + 20_000_000, sample) }))
        let end = try #require(first.last)
        #expect(!later.isEmpty && later.allSatisfy { $0.start >= end.time && $0.time > $0.start })
    }

    @Test("cadence, pace and distance match the walk when the step length is given")
    func values() throws {
        let body = WalkingBody(seed: 11)
        let person = body.person
        let rows = estimate(
            simulated(seed: 11, seconds: Int64(body.pace.cycle)), PedometerOptions(stepLength: person.stepLength))
        let middle = rows.filter { body.pace.envelope(Double($0.time) / 1e6 - 2) > 0.999 && $0.time < 25_000_000 }
        #expect(middle.count > 8)
        for row in middle {
            #expect(abs(row.cadence / person.cadence - 1) < 0.1)
            #expect(abs(row.pace * person.cadence * person.stepLength - 1) < 0.1)
            #expect(abs(row.distance - Double(row.steps) * person.stepLength) < 0.001)
        }
        let last = try #require(rows.last)
        let active = rows.reduce(0) { $0 + $1.seconds } / rows.reduce(0) { $0 + $1.distance }
        #expect(abs(last.averagePace - active) < 0.01)
    }

    @Test("cadence and pace restart with each walk, the average pace does not")
    func secondWalk() {
        var meter = WalkStatistics(PedometerOptions(stepLength: 0.5))
        #expect(meter.cadence.isNaN && meter.pace.isNaN && meter.averagePace.isNaN)
        for index in 0..<10 as Range<Int64> {
            let length = meter.add(Step(time: (index + 1) * 500_000, start: index * 500_000, rise: 0.3))
            #expect(length == 0.5)
        }
        #expect(meter.cadence == 2 && meter.pace == 1 && meter.averagePace == 1)
        _ = meter.add(Step(time: 61_000_000, start: 60_000_000, rise: 0.3))
        #expect(meter.cadence == 1 && meter.pace == 2)
        #expect(abs(meter.averagePace - 6 / 5.5) < 1e-12)
    }

    @Test("steps are longer for taller people and faster cadences")
    func lengths() {
        let usual = StepLengthModel(PedometerOptions(height: 1.8))
        #expect(abs(usual.length(cadence: 1.9) - 0.747) < 1e-9)
        #expect(usual.length(cadence: 2.2) > usual.length(cadence: 1.9))
        #expect(usual.length(cadence: 1.5) < usual.length(cadence: 1.9))
        #expect(StepLengthModel(PedometerOptions(height: 1.6)).length(cadence: 1.9) < 0.747)
        #expect(StepLengthModel(PedometerOptions(stepLength: 0.5, height: 1.8)).length(cadence: 2.5) == 0.5)
        let unknown = StepLengthModel(PedometerOptions()).length(cadence: 1.9)
        #expect(unknown == StepLengthModel(PedometerOptions(height: 1.68)).length(cadence: 1.9))
        // The law is not extrapolated.
        #expect(usual.length(cadence: 0.1) == usual.length(cadence: 0.8))
        #expect(usual.length(cadence: 9) == usual.length(cadence: 3))
    }
}
