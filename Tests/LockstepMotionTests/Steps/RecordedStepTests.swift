import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepMotion

/// The documented accuracy on recordings: errors relative to the true count, and false steps a minute.
@Suite("Steps of recordings", .enabled(if: sharedData != nil))
struct RecordedStepTests {
    private struct Errors {
        var mean: Double
        var worst: Double
    }

    private func errors(
        _ walks: [RecordedWalk], parameters: StepParameters = StepParameters(), logs: Bool = false,
        change: (SampleBlock) -> SampleBlock = { $0 }
    ) -> Errors {
        let errors = walks.map { walk in
            let count = steps(in: change(walk.samples), parameters: parameters).count
            if logs { print("steps of \(walk.name): \(count) of \(walk.steps)") }
            return abs(Double(count - walk.steps)) / Double(walk.steps)
        }
        return Errors(mean: errors.reduce(0, +) / Double(errors.count), worst: errors.max() ?? .infinity)
    }

    @Test("walks with a phone in a hand, pocket, pouch or purse are counted within 1.5 % on average and 5 % each")
    func walks() throws {
        let walks = try RecordedWalk.walks.get()
        let found = errors(walks, logs: true)
        print("walks: mean error \(found.mean), worst \(found.worst)")
        #expect(walks.count == 15)
        #expect(found.mean <= 0.015)
        #expect(found.worst <= 0.05)
    }

    @Test("walks with a sensor on the wrist, slow ones included, are counted within 2.5 % on average and 5 % each")
    func wrist() throws {
        let walks = try RecordedWalk.wrist.get().filter { $0.steps > 0 }
        let found = errors(walks, logs: true)
        #expect(walks.count == 6)
        #expect(found.mean <= 0.025)
        #expect(found.worst <= 0.05)
    }

    /// The largest number of false steps a minute that is documented, by activity and detail.
    private static let falseSteps: [String: Double] = [
        "stationary": 0.1, "desk typing": 0.1, "desk writing": 0.1, "desk eating": 0.1, "desk brushing_teeth": 10,
        "desk folding_clothes": 10, "gesture clapping": 10, "gesture steer": 10, "shake": 10, "automotive bus": 1,
        "automotive train": 1, "automotive car": 1, "elevator": 0.1, "cycling": 2,
    ]

    @Test("what is not gait yields few steps", arguments: falseSteps.keys.sorted())
    func others(activity: String) throws {
        let recordings = try RecordedWalk.activities.get().filter {
            activity == $0.activity || activity == "\($0.activity) \($0.detail)"
        }
        let count = recordings.reduce(0) { $0 + steps(in: $1.samples).count }
        let minutes = recordings.reduce(0) { $0 + $1.duration } / 60
        print("\(activity): \(count) steps in \(minutes) minutes")
        #expect(!recordings.isEmpty)
        #expect(Double(count) / minutes <= Self.falseSteps[activity] ?? 0)
    }

    @Test("desk work yields at most five false steps a minute")
    func desk() throws {
        let work = try RecordedWalk.wrist.get().filter { $0.steps == 0 }
        #expect(work.count == 4)
        for recording in work {
            let count = steps(in: recording.samples).count
            print("steps of \(recording.name): \(count)")
            #expect(Double(count) / recording.duration * 60 <= 5, "\(recording.name): \(count)")
        }
    }

    @Test("the orientation and sign of the axes have no effect")
    func signs() throws {
        let walk = try #require(try RecordedWalk.walks.get().first).samples
        let times = steps(in: walk).map(\.time)
        let turned = walk.mapped { _, time, sample in (time, SIMD3(-sample.y, sample.z, -sample.x)) }
        #expect(steps(in: turned).map(\.time) == times)
    }

    @Test("walks sampled at 12.5 to 100 Hz are counted with the same accuracy", arguments: [12.5, 20, 25, 50, 100])
    func rates(rate: Double) throws {
        let found = errors(try RecordedWalk.walks.get()) { $0.averaged(to: rate) }
        print("walks at \(rate): mean error \(found.mean), worst \(found.worst)")
        #expect(found.mean <= 0.018)
        #expect(found.worst <= (rate < 20 ? 0.06 : 0.055))
    }

    @Test("walks 10 % weaker, stronger, slower or faster are counted with the same accuracy", arguments: [0.9, 1.1])
    func changed(factor: Double) throws {
        let walks = try RecordedWalk.walks.get().map { walk in
            RecordedWalk(name: walk.name, steps: walk.steps, samples: walk.samples.averaged(to: 50))
        }
        let work = try RecordedWalk.wrist.get().filter { $0.steps == 0 }
        let scaled = { (block: SampleBlock) in block.mapped { _, time, sample in (time, sample * factor) } }
        let stretched = { (block: SampleBlock) in
            block.mapped { _, time, sample in (Int64(Double(time) * factor), sample) }
        }
        for change in [scaled, stretched] {
            let found = errors(walks, change: change)
            print("walks changed by \(factor): mean error \(found.mean), worst \(found.worst)")
            #expect(found.mean <= 0.02)
            #expect(found.worst <= 0.06)
            for recording in work {
                let count = steps(in: change(recording.samples)).count
                #expect(Double(count) / recording.duration * 60 <= 10, "\(recording.name): \(count)")
            }
        }
    }

    @Test("each parameter may be off by 10 %", arguments: [0.9, 1.1])
    func parameters(factor: Double) throws {
        // A fifth of the walks, to limit the run time.
        let walks = try RecordedWalk.walks.get().enumerated().filter { $0.offset % 5 == 0 }.map { _, walk in
            RecordedWalk(name: walk.name, steps: walk.steps, samples: walk.samples.averaged(to: 50))
        }
        let work = try RecordedWalk.wrist.get().filter { $0.steps == 0 }
        let all: [WritableKeyPath<StepParameters, Double>] = [
            \.lowCutOff, \.highCutOff, \.minRegularSwing, \.minIrregularSwing, \.regularPeriodicity,
            \.irregularPeriodicity, \.swingFraction,
            \.swingDecayTime, \.periodicityWindow, \.minStepInterval, \.maxStepInterval, \.spreadWeight,
            \.minQuality, \.fadingRatio, \.walkTimeConstant, \.minStrength, \.maxVibration, \.maxSideways,
            \.strongMovement, \.minRegularity, \.peakAllowance, \.sidewaysWeight, \.skewnessWeight, \.minFootfall,
            \.strengthTime, \.evidenceTime,
        ]
        for (index, path) in all.enumerated() {
            var parameters = StepParameters()
            parameters[keyPath: path] *= factor
            let found = errors(walks, parameters: parameters)
            #expect(found.mean <= 0.02, "parameter \(index) times \(factor)")
            #expect(found.worst <= 0.06, "parameter \(index) times \(factor)")
            for recording in work {
                let count = steps(in: recording.samples, parameters: parameters).count
                let perMinute = Double(count) / recording.duration * 60
                #expect(perMinute <= 10, "\(recording.name), parameter \(index) times \(factor)")
            }
        }
    }
}
