import LockstepModel
public import LockstepMotion

/// What derived sensors are told about the person and the place.
public struct DerivedOptions: Sendable {
    /// How attitudes are told.
    public var deviceMotion: DeviceMotionEstimator.Options
    /// What is known of the person who walks.
    public var pedometer: PedometerOptions

    public init(deviceMotion: DeviceMotionEstimator.Options = .init(), pedometer: PedometerOptions = .init()) {
        self.deviceMotion = deviceMotion
        self.pedometer = pedometer
    }

    /// - Parameter given: the streams that sources give.
    func sensors(given: Set<SensorStream>) -> [any DerivedSensor] {
        [
            DeviceMotionSensor(options: deviceMotion, sensors: given), StepSensor(options: pedometer),
            OrientationSensor(),
        ]
    }
}

/// Steps from an accelerometer.
struct StepSensor: DerivedSensor {
    /// Samples a second that steps are counted well in.
    private static let rate = 50.0

    private let options: PedometerOptions
    private var pedometer: PedometerEstimator

    init(options: PedometerOptions) {
        self.options = options
        pedometer = PedometerEstimator(options: options)
    }

    var stream: SensorStream { .steps }
    var needs: Set<SensorStream> { [.accelerometer] }

    func inputs(for rate: Double) -> [SensorStream: Double] { [.accelerometer: Self.rate] }

    mutating func update(_ samples: SampleBlock) -> SampleBlock { pedometer.update(samples) }

    mutating func finish() -> SampleBlock {
        defer { pedometer = PedometerEstimator(options: options) }
        return pedometer.finish()
    }
}

/// How the device is held, from an accelerometer.
struct OrientationSensor: DerivedSensor {
    /// Samples a second that changes are seen well in.
    private static let rate = 20.0

    private var detector = OrientationDetector()

    var stream: SensorStream { .orientation }
    var needs: Set<SensorStream> { [.accelerometer] }

    func inputs(for rate: Double) -> [SensorStream: Double] { [.accelerometer: Self.rate] }

    mutating func update(_ samples: SampleBlock) -> SampleBlock { detector.update(samples) }

    mutating func finish() -> SampleBlock {
        detector = OrientationDetector()
        return SampleBlock(stream: .orientation)
    }
}
