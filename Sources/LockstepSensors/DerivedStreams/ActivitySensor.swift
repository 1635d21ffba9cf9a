import LockstepModel
import LockstepMotion

/// The activity of the person with the device, from an accelerometer and, if there is one, the speed of a receiver.
struct ActivitySensor: DerivedSensor {
    /// The input rate that is needed, in samples/s.
    private static let rate = 50.0

    private var estimator = ActivityEstimator()

    var stream: SensorStream { .activity }
    var requiredInputs: Set<SensorStream> { [.accelerometer] }

    func inputs(for rate: Double) -> [SensorStream: Double] {
        // Not a reason to switch a receiver on.
        [.accelerometer: Self.rate, .location: 0]
    }

    mutating func update(_ samples: SampleBlock) -> SampleBlock { estimator.update(samples) }

    mutating func finish() -> SampleBlock {
        estimator = ActivityEstimator()
        return SampleBlock(stream: stream)
    }
}
