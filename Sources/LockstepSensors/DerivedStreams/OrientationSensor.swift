import LockstepModel
import LockstepMotion

/// The orientation of the device (portrait, face up, …) from an accelerometer.
struct OrientationSensor: DerivedSensor {
    /// The input rate that change detection needs, in samples/s.
    private static let rate = 20.0

    private var detector = OrientationDetector()

    var stream: SensorStream { .orientation }
    var requiredInputs: Set<SensorStream> { [.accelerometer] }

    func inputs(for rate: Double) -> [SensorStream: Double] { [.accelerometer: Self.rate] }

    mutating func update(_ samples: SampleBlock) -> SampleBlock { detector.update(samples) }

    mutating func finish() -> SampleBlock {
        detector = OrientationDetector()
        return SampleBlock(stream: stream)
    }
}
