import LockstepModel
public import LockstepMotion

/// A sensor whose stream is computed from other streams.
protocol DerivedSensor: Sendable {
    var stream: SensorStream { get }

    /// Returns the minimum rates, in samples/s, of the input streams for an output rate of `rate`.
    ///
    /// Optional inputs are included; see ``requiredInputs``. One with the rate 0 is used only if it is measured anyway.
    func inputs(for rate: Double) -> [SensorStream: Double]

    /// The inputs that are required; other inputs are optional.
    var requiredInputs: Set<SensorStream> { get }

    /// Processes samples of one input and returns the output samples that are now complete.
    mutating func update(_ samples: SampleBlock) -> SampleBlock

    /// Returns the pending samples and resets the computation.
    mutating func finish() -> SampleBlock

    /// The status of the sensor, if it has more to report than its samples.
    var status: SourceStatus? { get }
}

extension DerivedSensor {
    mutating func finish() -> SampleBlock { SampleBlock(stream: stream) }

    var status: SourceStatus? { nil }
}

/// Settings of the derived streams.
public struct DerivedOptions: Sendable {
    /// The reference frame and the magnetic declination of attitudes and headings.
    public var deviceMotion: DeviceMotionEstimator.Options
    /// The properties of the person whose steps are counted.
    public var pedometer: PedometerOptions

    /// Creates the settings.
    public init(
        deviceMotion: DeviceMotionEstimator.Options = .init(), pedometer: PedometerOptions = .init()
    ) {
        self.deviceMotion = deviceMotion
        self.pedometer = pedometer
    }

    /// Returns all derived sensors, each after the sensors that it depends on.
    /// - Parameter provided: The streams of the sources.
    func sensors(provided: Set<SensorStream>) -> [any DerivedSensor] {
        var sensors: [any DerivedSensor] = [
            DeviceMotionSensor(options: deviceMotion, provided: provided), StepSensor(options: pedometer),
            FloorSensor(), ActivitySensor(), OrientationSensor(), AltitudeSensor(),
        ]
        if HeadingSensor.isAvailable(options: deviceMotion, provided: provided) {
            sensors.append(HeadingSensor(declination: DeclinationSource(given: deviceMotion.declination)))
        }
        return sensors
    }
}

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

/// The floors that a person climbs, from air pressure and steps.
struct FloorSensor: DerivedSensor {
    private var counter = FloorCounter()

    var stream: SensorStream { .floors }
    var requiredInputs: Set<SensorStream> { [.pressure, .steps] }

    func inputs(for rate: Double) -> [SensorStream: Double] { [.pressure: 1, .steps: 1] }

    mutating func update(_ samples: SampleBlock) -> SampleBlock { counter.update(samples) }

    mutating func finish() -> SampleBlock { counter.finish() }
}

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
