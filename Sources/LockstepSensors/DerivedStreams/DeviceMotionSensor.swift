import LockstepModel
import LockstepMotion

/// Attitude and what it tells apart, from an accelerometer and whatever there is of gyroscope and magnetometer.
struct DeviceMotionSensor: DerivedSensor {
    /// Samples a second that rotation is followed well in.
    private static let minRate = 100.0
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
        let fast = max(rate, Self.minRate)
        return [.accelerometer: fast, .gyroscope: fast, .magnetometer: Self.fieldRate]
    }

    mutating func update(_ samples: SampleBlock) -> SampleBlock { block(estimator.update(samples)) }

    mutating func finish() -> SampleBlock { block(estimator.finish()) }

    private func block(_ motions: [DeviceMotion]) -> SampleBlock {
        var block = SampleBlock(stream: .deviceMotion)
        for motion in motions { block.append(time: motion.timestamp, values: motion.values) }
        return block
    }
}
