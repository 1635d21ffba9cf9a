import LockstepModel
import LockstepMotion

/// Attitude and what it tells apart, from an accelerometer and whatever there is of gyroscope and magnetometer.
struct DeviceMotionSensor: DerivedSensor {
    /// Samples a second that rotation is followed well in.
    private static let leastRate = 100.0
    /// Samples a second of the field: its heading is followed over seconds.
    private static let fieldRate = 25.0

    private var estimator: DeviceMotionEstimator

    /// - Parameter sensors: what the sources give.
    init(options: DeviceMotionEstimator.Options, sensors: Set<SensorStream>) {
        estimator = DeviceMotionEstimator(
            options: options, sensors: sensors.intersection([.accelerometer, .gyroscope, .magnetometer]))
    }

    var stream: SensorStream { .deviceMotion }
    var needs: Set<SensorStream> { [.accelerometer] }

    func inputs(for rate: Double) -> [SensorStream: Double] {
        let fast = max(rate, Self.leastRate)
        var inputs: [SensorStream: Double] = [.accelerometer: fast, .gyroscope: fast, .magnetometer: Self.fieldRate]
        // The declination changes slowly with the place.
        if estimator.needsLocation { inputs[.location] = 1.0 / 60 }
        return inputs
    }

    mutating func update(_ samples: SampleBlock) -> SampleBlock { block(estimator.update(samples)) }

    mutating func finish() -> SampleBlock { block(estimator.finish()) }

    var status: SourceStatus? {
        guard let declination = estimator.declinationStatus, declination != .given else { return nil }
        if case .model(_, isDateValid: true) = declination { return .running }
        return .degraded("\(declination)")
    }

    private func block(_ motions: [DeviceMotion]) -> SampleBlock {
        var block = SampleBlock(stream: .deviceMotion)
        for motion in motions { block.append(time: motion.timestamp, values: motion.values) }
        return block
    }
}
