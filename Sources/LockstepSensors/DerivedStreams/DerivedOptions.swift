import LockstepModel
public import LockstepMotion

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
            ActivitySensor(), OrientationSensor(), AltitudeSensor(),
        ]
        if HeadingSensor.isAvailable(options: deviceMotion, provided: provided) {
            sensors.append(HeadingSensor(declination: DeclinationSource(given: deviceMotion.declination)))
        }
        return sensors
    }
}
