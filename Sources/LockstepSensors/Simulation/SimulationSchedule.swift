package import LockstepModel
import LockstepMotion

/// The schedule of a simulated body's samples, as a value: it takes times and returns blocks.
///
/// Each stream has a fixed grid of times that begins at the start, so nothing drifts. At a given rate, sample `n` of a
/// stream always has the same values.
package struct SimulationSchedule: Sendable {
    /// The time in µs after which overdue samples are skipped. After a suspend they would be a burst of values that no
    /// sensor measured.
    package static let maxDelay: Int64 = 10_000_000

    package let body: WalkingBody
    /// The time of the first sample of each stream, in µs.
    package let start: Int64
    /// The native rate of accelerometer, gyroscope and magnetometer, in samples/s.
    package let rate: Double
    /// The rates of the requested streams, in samples/s.
    private var rates: [SensorStream: Double]
    /// The index of the next sample of each stream on its grid.
    private var next: [SensorStream: Int64] = [:]
    /// All samples up to this time, in µs, have been returned.
    private var takenThrough: Int64
    private var batteryChanges = BatteryChanges()

    package init(body: WalkingBody, rate: Double, start: Int64) {
        self.body = body
        self.rate = rate
        self.start = start
        takenThrough = start - 1
        rates = [:]
        setRates(Dictionary(uniqueKeysWithValues: SimulatedSensor.streams.map { ($0, .infinity) }))
    }

    /// Sets the rates in samples/s. Infinite rates become the native rate, and each rate is limited to the range that
    /// the simulated sensor supports.
    package mutating func setRates(_ requested: [SensorStream: Double]) {
        var rates: [SensorStream: Double] = [:]
        for (stream, requested) in requested where requested > 0 {
            guard let supported = SimulatedSensor.rates(of: stream), let native = nativeRate(of: stream) else {
                continue
            }
            let rate = requested.isInfinite ? native : requested
            rates[stream] = min(max(rate, supported.lowerBound), supported.upperBound)
        }
        for (stream, rate) in rates where rate != self.rates[stream] {
            next[stream] = Self.end(elapsed: takenThrough - start, rate: rate)
        }
        self.rates = rates
    }

    /// Whether no stream is requested.
    package var isIdle: Bool { rates.isEmpty }

    /// Returns the samples up to `now` that have not been returned yet: one block per stream, none of them empty.
    package mutating func take(through now: Int64) -> [SampleBlock] {
        defer { takenThrough = max(takenThrough, now) }
        let body = body
        return [
            axes(
                .accelerometer, through: now, lane: 1, noise: WalkingBody.accelerometerNoise, body.accelerometer),
            axes(.gyroscope, through: now, lane: 2, noise: WalkingBody.gyroscopeNoise, body.rotationRate),
            axes(.magnetometer, through: now, lane: 3, noise: WalkingBody.magnetometerNoise, body.magnetometer),
            rows(.location, through: now) { body.fix(at: $0, index: $1) },
            rows(.pressure, through: now) { [body.pressure(at: $0, index: $1)] },
            batteries(through: now),
        ].filter { !$0.isEmpty }
    }

    /// Returns the indices of the samples up to `now` and marks them as returned.
    private mutating func takeIndices(_ stream: SensorStream, through now: Int64) -> (
        indices: Range<Int64>, rate: Double
    ) {
        guard let rate = rates[stream] else { return (0..<0, 1) }
        let elapsed = now - start
        let end = Self.end(elapsed: elapsed, rate: rate)
        let oldest = Int64((Double(elapsed - Self.maxDelay) * rate / 1e6).rounded(.up))
        let first = max(next[stream] ?? 0, oldest)
        next[stream] = max(next[stream] ?? 0, end)
        return (first..<max(first, end), rate)
    }

    /// Returns the number of samples from the start until `elapsed` µs later, both included.
    private static func end(elapsed: Int64, rate: Double) -> Int64 {
        elapsed < 0 ? 0 : Int64((Double(elapsed) * rate / 1e6 + 1e-6).rounded(.down)) + 1
    }

    /// Returns the native rate of a stream in samples/s; nil if it is not simulated.
    private func nativeRate(of stream: SensorStream) -> Double? {
        SimulatedSensor.nativeRate(of: stream, motionRate: rate)
    }

    private mutating func rows(
        _ stream: SensorStream, through now: Int64, _ values: (_ seconds: Double, _ index: Int64) -> [Double]
    ) -> SampleBlock {
        let (indices, rate) = takeIndices(stream, through: now)
        var block = SampleBlock(stream: stream)
        for index in indices {
            let seconds = Double(index) / rate
            block.append(
                time: Timestamp(microseconds: start + Int64((seconds * 1e6).rounded())), values: values(seconds, index))
        }
        return block
    }

    /// Reads the battery once a second. Only changes, and an unchanged reading every five minutes, become samples.
    private mutating func batteries(through now: Int64) -> SampleBlock {
        var block = SampleBlock(stream: .battery)
        for index in takeIndices(.battery, through: now).indices {
            let time = start + index * 1_000_000
            let reading = body.battery(at: Double(index))
            if batteryChanges.isSample(reading, at: time) {
                block.append(time: Timestamp(microseconds: time), values: reading.values)
            }
        }
        return block
    }

    private mutating func axes(
        _ stream: SensorStream, through now: Int64, lane: UInt64, noise: Double, _ value: (Double) -> SIMD3<Double>
    ) -> SampleBlock {
        let (indices, rate) = takeIndices(stream, through: now)
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
