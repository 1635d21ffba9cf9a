import LockstepModel
import LockstepMotion

/// The altitude relative to the first sample, from air pressure.
///
/// Weather changes the pressure too: 1 hPa is about 8 m, so the value drifts by some metres an hour.
struct AltitudeSensor: DerivedSensor {
    /// The input rate in samples/s if every sample is requested.
    private static let defaultRate = 1.0

    /// The altitude in the standard atmosphere at the first sample, in m.
    private var start: Double?

    var stream: SensorStream { .altitude }
    var requiredInputs: Set<SensorStream> { [.pressure] }

    func inputs(for rate: Double) -> [SensorStream: Double] {
        [.pressure: rate.isFinite ? rate : Self.defaultRate]
    }

    mutating func update(_ samples: SampleBlock) -> SampleBlock {
        var block = SampleBlock(stream: stream)
        for (time, pressure) in zip(samples.times, samples.columns[0]) where pressure > 0 {
            let altitude = StandardAtmosphere.altitude(at: pressure)
            let start = start ?? altitude
            self.start = start
            block.append(time: Timestamp(microseconds: time), values: [resolved(altitude - start, decimals: 2)])
        }
        return block
    }

    mutating func finish() -> SampleBlock {
        start = nil
        return SampleBlock(stream: stream)
    }
}
