import LockstepModel
import LockstepMotion

/// Attitude, gravity and user acceleration from an accelerometer and, where available, gyroscope and magnetometer.
struct DeviceMotionSensor: DerivedSensor {
    /// The lowest input rate that tracks rotations well, in samples/s.
    private static let minRate = 100.0
    /// The rate of the magnetometer in samples/s: it corrects the heading only over seconds.
    private static let fieldRate = 25.0
    /// The rate of the location in samples/s: the declination changes only over kilometres.
    private static let locationRate = 1.0 / 60

    private var estimator: DeviceMotionEstimator
    private(set) var status: SourceStatus?

    /// - Parameter provided: The streams of the sources.
    init(options: DeviceMotionEstimator.Options, provided: Set<SensorStream>) {
        estimator = DeviceMotionEstimator(
            options: options, sensors: provided.intersection([.accelerometer, .gyroscope, .magnetometer]))
        status = Self.status(estimator.declinationStatus)
    }

    var stream: SensorStream { .deviceMotion }
    var requiredInputs: Set<SensorStream> { [.accelerometer] }

    func inputs(for rate: Double) -> [SensorStream: Double] {
        let fast = max(rate, Self.minRate)
        var inputs: [SensorStream: Double] = [.accelerometer: fast, .gyroscope: fast, .magnetometer: Self.fieldRate]
        if estimator.needsLocation { inputs[.location] = Self.locationRate }
        return inputs
    }

    mutating func update(_ samples: SampleBlock) -> SampleBlock {
        let motions = estimator.update(samples)
        // Only a location changes the origin of the declination.
        if samples.stream == .location { status = Self.status(estimator.declinationStatus) }
        return block(motions)
    }

    mutating func finish() -> SampleBlock { block(estimator.finish()) }

    private static func status(_ declination: DeclinationSource.Status?) -> SourceStatus? {
        guard let declination, declination != .given else { return nil }
        if case .model(_, isDateValid: true) = declination { return .running }
        return .degraded("\(declination)")
    }

    private func block(_ motions: [DeviceMotion]) -> SampleBlock {
        var block = SampleBlock(stream: stream)
        for motion in motions { block.append(time: motion.timestamp, values: motion.values) }
        return block
    }
}
