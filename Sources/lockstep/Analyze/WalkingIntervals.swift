import LockstepModel
import LockstepMotion

/// A time interval of walking.
struct WalkingInterval: Equatable {
    /// The start of the first step, in µs as in the recording.
    var start: Int64
    /// The end of the last step, in µs as in the recording.
    var end: Int64
    /// The number of steps.
    var steps: Int
    /// The distance, in m.
    var distance: Double
    /// The time of walking without short pauses, in s.
    var seconds: Double

    /// The pace while walking, in s/m.
    var pace: Double { seconds / distance }
    /// The cadence while walking, in steps/s.
    var cadence: Double { Double(steps) / seconds }
}

extension WalkingInterval {
    /// The longest pause within one walk, in µs.
    private static let maxPause: Int64 = 3_000_000

    /// Returns the successive walks of a recording.
    static func all(in accelerometer: SampleBlock, options: PedometerOptions) -> [WalkingInterval] {
        var estimator = PedometerEstimator(options: options)
        let rows = [estimator.update(accelerometer), estimator.finish()]
        var walks: [WalkingInterval] = []
        for (block, index) in rows.flatMap({ block in block.times.indices.map { (block, $0) } }) {
            let start = Int64(block.columns[0][index])
            let end = block.times[index]
            let row = WalkingInterval(
                start: start, end: end, steps: Int(block.columns[1][index]), distance: block.columns[2][index],
                seconds: Double(end - start) / 1e6)
            if let last = walks.last, start - last.end <= maxPause {
                walks[walks.count - 1] = last.joined(row)
            } else {
                walks.append(row)
            }
        }
        return walks
    }

    /// Returns the sum of all walks, or nil if there are none.
    static func total(_ walks: [WalkingInterval]) -> WalkingInterval? {
        guard let first = walks.first else { return nil }
        return walks.dropFirst().reduce(first) { $0.joined($1) }
    }

    private func joined(_ later: WalkingInterval) -> WalkingInterval {
        WalkingInterval(
            start: start, end: later.end, steps: steps + later.steps, distance: distance + later.distance,
            seconds: seconds + later.seconds)
    }
}
