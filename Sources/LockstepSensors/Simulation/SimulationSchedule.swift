package import LockstepModel

/// Which samples of a simulated body are due, as a value: time in, blocks out.
///
/// Every stream has its grid of times from the start, so nothing drifts; sample `n` of a stream has the same values
/// whenever it is asked for.
package struct SimulationSchedule: Sendable {
    /// A sample older than this when it comes up, in µs, is left out: after a suspend nobody wants a flood of what was
    /// not measured.
    package static let longestDelay: Int64 = 10_000_000

    package let body: WalkingBody
    /// Time of the first sample of each stream, in µs.
    package let start: Int64
    /// Samples a second of accelerometer, gyroscope and magnetometer.
    package let rate: Double

    private var nextMotion: Int64 = 0
    private var nextLocation: Int64 = 0

    package init(body: WalkingBody, rate: Double, start: Int64) {
        self.body = body
        self.rate = rate
        self.start = start
    }

    /// The samples with times up to `now` that were not yet given, a block a stream; none of them is empty.
    package mutating func take(through now: Int64) -> [SampleBlock] {
        let motion = Self.due(from: &nextMotion, elapsed: now - start, rate: rate)
        let location = Self.due(from: &nextLocation, elapsed: now - start, rate: 1)
        var blocks: [SampleBlock] = []
        if !motion.isEmpty {
            blocks.append(
                axes(.accelerometer, of: motion, lane: 1, noise: WalkingBody.accelerometerNoise, body.accelerometer))
            blocks.append(axes(.gyroscope, of: motion, lane: 2, noise: WalkingBody.gyroscopeNoise, body.rotationRate))
            blocks.append(
                axes(.magnetometer, of: motion, lane: 3, noise: WalkingBody.magnetometerNoise, body.magnetometer))
        }
        if !location.isEmpty {
            var block = SampleBlock(stream: .location)
            for index in location {
                block.append(
                    time: Timestamp(microseconds: start + index * 1_000_000),
                    values: body.fix(at: Double(index), index: index))
            }
            blocks.append(block)
        }
        return blocks
    }

    /// The numbers of the samples that are due, and moves `next` behind them.
    private static func due(from next: inout Int64, elapsed: Int64, rate: Double) -> Range<Int64> {
        let end = elapsed < 0 ? 0 : Int64((Double(elapsed) * rate / 1e6 + 1e-6).rounded(.down)) + 1
        let oldest = Int64((Double(elapsed - longestDelay) * rate / 1e6).rounded(.up))
        let first = max(next, oldest)
        next = max(next, end)
        return first..<max(first, end)
    }

    private func axes(
        _ stream: SensorStream, of indices: Range<Int64>, lane: UInt64, noise: Double,
        _ value: (Double) -> SIMD3<Double>
    ) -> SampleBlock {
        var block = SampleBlock(stream: stream)
        for index in indices {
            let seconds = Double(index) / rate
            let sample = value(seconds) + noise * body.noise(lane: lane, index: index)
            let time = start + Int64((seconds * 1e6).rounded())
            block.append(
                time: Timestamp(microseconds: time),
                values: [sample.x, sample.y, sample.z].map { resolved($0, decimals: WalkingBody.motionDecimals) })
        }
        return block
    }
}
