import LockstepModel
import LockstepMotion

/// Steps from an accelerometer.
struct StepSensor: DerivedSensor {
    /// The input rate that step detection needs, in samples/s.
    private static let rate = 50.0

    private let options: PedometerOptions
    private var pedometer: PedometerEstimator

    init(options: PedometerOptions) {
        self.options = options
        pedometer = PedometerEstimator(options: options)
    }

    var stream: SensorStream { .steps }
    var requiredInputs: Set<SensorStream> { [.accelerometer] }

    func inputs(for rate: Double) -> [SensorStream: Double] { [.accelerometer: Self.rate] }

    mutating func update(_ samples: SampleBlock) -> SampleBlock { pedometer.update(samples) }

    mutating func finish() -> SampleBlock {
        defer { pedometer = PedometerEstimator(options: options) }
        return pedometer.finish()
    }
}
