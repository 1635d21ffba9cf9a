import LockstepModel
public import LockstepMotion

/// Settings of the derived streams.
public struct DerivedOptions: Sendable {
    /// The reference frame and the magnetic declination of attitudes and headings.
    public var deviceMotion: DeviceMotionEstimator.Options
    /// The person whose steps are counted.
    public var pedometer: PedometerOptions
    /// Computes the magnetic declination from the position, where `deviceMotion.declination` is nil.
    public var declinationModel: DeclinationModel?

    public init(
        deviceMotion: DeviceMotionEstimator.Options = .init(), pedometer: PedometerOptions = .init(),
        declinationModel: DeclinationModel? = nil
    ) {
        self.deviceMotion = deviceMotion
        self.pedometer = pedometer
        self.declinationModel = declinationModel
    }

    /// All derived sensors, each after those it depends on.
    /// - Parameter provided: The streams of the sources.
    func sensors(provided: Set<SensorStream>) -> [any DerivedSensor] {
        var sensors: [any DerivedSensor] = [
            DeviceMotionSensor(options: deviceMotion, provided: provided), StepSensor(options: pedometer),
            OrientationSensor(), AltitudeSensor(),
        ]
        if HeadingSensor.isAvailable(options: deviceMotion, provided: provided) {
            sensors.append(HeadingSensor(declination: Declination(deviceMotion.declination, model: declinationModel)))
        }
        return sensors
    }
}
