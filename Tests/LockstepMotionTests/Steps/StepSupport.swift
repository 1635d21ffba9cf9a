import LockstepModel
import SensorTestSupport

@testable import LockstepMotion
@testable import LockstepSensors

/// A recording with its true number of steps: of a walk, or of something else.
struct RecordedWalk: Sendable {
    let name: String
    /// -1 if it was not counted.
    let steps: Int
    var activity = ""
    var detail = ""
    let samples: SampleBlock

    /// The duration, in s.
    var duration: Double { Double((samples.times.last ?? 0) - (samples.times.first ?? 0)) / 1e6 }

    /// The walks with a phone, read once.
    static let walks = Result { try all(in: "walks") }
    /// The walks and the desk work with a sensor on the wrist, read once.
    static let wrist = Result { try all(in: "wrist") }

    /// The labelled recordings of many persons and places, read once.
    static let activities = Result { try all(in: "activity") }

    private static func all(in folder: String) throws -> [RecordedWalk] {
        try truthTable(folder + "/truth.csv").map { row in
            guard let file = row["file"],
                let samples = try Recording(file: sharedFile("\(folder)/\(file)")).samples(of: .accelerometer)
            else { throw FileError(reason: "\(folder)/truth.csv: a row without file, steps or samples") }
            return RecordedWalk(
                name: file, steps: row["steps"].flatMap(Int.init) ?? -1, activity: row["activity"] ?? "",
                detail: row["detail"] ?? "", samples: samples)
        }
    }
}

/// Returns the steps that a new detector finds.
func steps(in samples: SampleBlock, parameters: StepParameters = StepParameters()) -> [Step] {
    var detector = StepDetector(parameters: parameters)
    var steps: [Step] = []
    let columns = samples.columns
    for (index, time) in samples.times.enumerated() {
        detector.update(time: time, x: columns[0][index], y: columns[1][index], z: columns[2][index], into: &steps)
    }
    return steps
}

/// Returns the accelerometer samples of a simulated body for `seconds`, starting at time 0.
func simulated(seed: UInt64, seconds: Int64, rate: Double = 100) -> SampleBlock {
    var schedule = SimulationSchedule(body: WalkingBody(seed: seed), rate: rate, start: 0)
    schedule.setRates([.accelerometer: rate])
    var all = SampleBlock(stream: .accelerometer)
    for second in 1...seconds {
        for block in schedule.take(through: second * 1_000_000) { all.append(block) }
    }
    return all
}

extension SampleBlock {
    /// Returns the samples with changed times and values; nil removes a sample.
    func mapped(_ change: (_ index: Int, _ time: Int64, _ sample: SIMD3<Double>) -> (Int64, SIMD3<Double>)?)
        -> SampleBlock
    {
        var result = SampleBlock(stream: stream)
        for (index, time) in times.enumerated() {
            let sample = SIMD3(columns[0][index], columns[1][index], columns[2][index])
            guard let (time, sample) = change(index, time, sample) else { continue }
            result.append(time: Timestamp(microseconds: time), values: [sample.x, sample.y, sample.z])
        }
        return result
    }

    /// Returns the samples outside of `times`.
    func without(_ times: Range<Int64>) -> SampleBlock {
        mapped { _, time, sample in times.contains(time) ? nil : (time, sample) }
    }

    /// Returns magnitudes averaged to about `rate` in Hz, as a slower sensor would report them.
    func averaged(to rate: Double) -> SampleBlock {
        let period = Int64(1e6 / rate)
        var result = SampleBlock(stream: stream)
        var sum = 0.0
        var count = 0.0
        var slot: Int64?
        for (index, time) in times.enumerated() {
            if let before = slot, time / period != before {
                result.append(
                    time: Timestamp(microseconds: before * period + period / 2), values: [0, 0, sum / count])
                (sum, count) = (0, 0)
            }
            slot = time / period
            let (x, y, z) = (columns[0][index], columns[1][index], columns[2][index])
            sum += (x * x + y * y + z * z).squareRoot()
            count += 1
        }
        return result
    }
}
