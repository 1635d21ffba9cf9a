package import LockstepModel
import LockstepMotion

/// Which samples of a simulated body are due, as a value: time in, blocks out.
///
/// Every stream has its grid of times from the start, so nothing drifts; at the same rate sample `n` of a stream has the
/// same values whenever it is asked for.
package struct SimulationSchedule: Sendable {
    /// A sample older than this when it comes up, in µs, is left out: after a suspend nobody wants a flood of what was
    /// not measured.
    package static let maxDelay: Int64 = 10_000_000

    package let body: WalkingBody
    /// Time of the first sample of each stream, in µs.
    package let start: Int64
    /// Samples a second of accelerometer, gyroscope and magnetometer.
    package let rate: Double
    /// Samples a second of the streams that are wanted.
    private var rates: [SensorStream: Double]
    /// The number of the next sample of each stream, on the grid of its rate.
    private var next: [SensorStream: Int64] = [:]
    /// All up to this time, in µs, has been given.
    private var takenThrough: Int64

    package init(body: WalkingBody, rate: Double, start: Int64) {
        self.body = body
        self.rate = rate
        self.start = start
        takenThrough = start - 1
        rates = [.accelerometer: rate, .gyroscope: rate, .magnetometer: rate, .location: 1]
    }

    /// Goes on with these rates, in samples a second: of motion at the most 10,000, and ``rate`` where infinite; of
    /// locations one.
    package mutating func setRates(_ wanted: [SensorStream: Double]) {
        var rates: [SensorStream: Double] = [:]
        for (stream, wanted) in wanted where wanted > 0 {
            rates[stream] = stream == .location ? 1 : wanted.isInfinite ? rate : min(wanted, 10_000)
        }
        for (stream, rate) in rates where rate != self.rates[stream] {
            next[stream] = Self.end(elapsed: takenThrough - start, rate: rate)
        }
        self.rates = rates
    }

    /// Whether anything is wanted.
    package var isIdle: Bool { rates.isEmpty }

    /// The samples with times up to `now` that were not yet given, a block a stream; none of them is empty.
    package mutating func take(through now: Int64) -> [SampleBlock] {
        defer { takenThrough = max(takenThrough, now) }
        return [
            axes(
                .accelerometer, through: now, lane: 1, noise: WalkingBody.accelerometerNoise, body.accelerometer),
            axes(.gyroscope, through: now, lane: 2, noise: WalkingBody.gyroscopeNoise, body.rotationRate),
            axes(.magnetometer, through: now, lane: 3, noise: WalkingBody.magnetometerNoise, body.magnetometer),
            locations(through: now),
        ].filter { !$0.isEmpty }
    }

    /// The numbers of the samples that are due; they count as given.
    private mutating func due(_ stream: SensorStream, through now: Int64) -> (indices: Range<Int64>, rate: Double) {
        guard let rate = rates[stream] else { return (0..<0, 1) }
        let elapsed = now - start
        let end = Self.end(elapsed: elapsed, rate: rate)
        let oldest = Int64((Double(elapsed - Self.maxDelay) * rate / 1e6).rounded(.up))
        let first = max(next[stream] ?? 0, oldest)
        next[stream] = max(next[stream] ?? 0, end)
        return (first..<max(first, end), rate)
    }

    /// How many samples there are up to a time.
    private static func end(elapsed: Int64, rate: Double) -> Int64 {
        elapsed < 0 ? 0 : Int64((Double(elapsed) * rate / 1e6 + 1e-6).rounded(.down)) + 1
    }

    private mutating func locations(through now: Int64) -> SampleBlock {
        var block = SampleBlock(stream: .location)
        for index in due(.location, through: now).indices {
            block.append(
                time: Timestamp(microseconds: start + index * 1_000_000),
                values: body.fix(at: Double(index), index: index))
        }
        return block
    }

    private mutating func axes(
        _ stream: SensorStream, through now: Int64, lane: UInt64, noise: Double, _ value: (Double) -> SIMD3<Double>
    ) -> SampleBlock {
        let (indices, rate) = due(stream, through: now)
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
