import LockstepModel
import LockstepMotion

/// The activity of the person with the device, from an accelerometer and, if there is one, the speed of a receiver.
struct ActivitySensor: DerivedSensor {
    /// The input rates that are needed, in samples/s.
    private static let (rate, locationRate) = (50.0, 0.2)

    private var estimator = ActivityEstimator()

    var stream: SensorStream { .activity }
    var requiredInputs: Set<SensorStream> { [.accelerometer] }

    func inputs(for rate: Double) -> [SensorStream: Double] {
        [.accelerometer: Self.rate, .location: Self.locationRate]
    }

    mutating func update(_ samples: SampleBlock) -> SampleBlock { estimator.update(samples) }

    mutating func finish() -> SampleBlock {
        estimator = ActivityEstimator()
        return SampleBlock(stream: stream)
    }
}
