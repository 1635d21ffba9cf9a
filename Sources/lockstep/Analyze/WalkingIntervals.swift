import LockstepModel
import LockstepMotion

/// Someone walked, from when to when.
struct WalkingInterval: Equatable {
    /// µs, as in the recording: the beginning of the first step, and the end of the last.
    var start: Int64
    var end: Int64
    var steps: Int
    /// m.
    var distance: Double
    /// s that were walked, without short pauses.
    var seconds: Double

    /// s/m while walking.
    var pace: Double { seconds / distance }
    /// Steps/s while walking.
    var cadence: Double { Double(steps) / seconds }
}

extension WalkingInterval {
    /// A shorter pause between two steps, in µs, does not end a walk.
    private static let pause: Int64 = 3_000_000

    /// The walks of a recording's accelerometer, one after the other.
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
            if let last = walks.last, start - last.end <= pause {
                walks[walks.count - 1] = last.joined(row)
            } else {
                walks.append(row)
            }
        }
        return walks
    }

    /// All of them as one; nil where there are none.
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
