import LockstepModel
public import LockstepMotion
import LockstepSensors
import Synchronization

/// Accelerometer, gyroscope, magnetometer and device motion of this device, as sequences or polled as the latest value.
///
/// Each sensor has a sequence of updates, which any number of readers may use at once, and a start and a stop function,
/// between which the latest reading can be polled. A sensor runs while any manager of the ``SensorHub`` needs it. A
/// sequence releases the sensor when its loop ends. Polling releases it when it is stopped or the manager is
/// deallocated. A change of an update interval applies to sequences and polling that start later.
public final class MotionManager: Sendable {
    let hub: SensorHub
    private let settings = Mutex(Settings())
    private let latestAccelerometer = LatestValue<AccelerometerData>()
    private let latestGyro = LatestValue<GyroData>()
    private let latestMagnetometer = LatestValue<MagnetometerData>()
    private let latestDeviceMotion = LatestValue<DeviceMotion>()

    private struct Settings {
        var accelerometerInterval = 0.02
        var gyroInterval = 0.02
        var magnetometerInterval = 0.02
        var deviceMotionInterval = 0.02
        var declination: Double?
    }

    /// Creates a manager without subscriptions.
    public init(hub: SensorHub) { self.hub = hub }

    // MARK: Accelerometer

    /// Whether a source provides readings of the accelerometer.
    public var isAccelerometerAvailable: Bool { hub.streams.contains(.accelerometer) }
    /// Whether ``accelerometerData`` is being updated.
    public var isAccelerometerActive: Bool { latestAccelerometer.isActive }
    /// The time between updates in s, at least 0.0001. The default is 0.02.
    public var accelerometerUpdateInterval: Double {
        get { settings.withLock { $0.accelerometerInterval } }
        set { settings.withLock { $0.accelerometerInterval = Self.checked(newValue) } }
    }
    /// The latest reading since the start; nil before the first.
    public var accelerometerData: AccelerometerData? { latestAccelerometer.value }
    /// The error that ended the updates of ``accelerometerData``; nil after a stop.
    public var accelerometerError: (any Error)? { latestAccelerometer.error }
    /// Starts updating ``accelerometerData``.
    public func startAccelerometerUpdates() { latestAccelerometer.start(accelerometerUpdates()) }
    /// Stops the updates and keeps the latest reading.
    public func stopAccelerometerUpdates() { latestAccelerometer.stop() }
    /// Returns readings at the update interval.
    public func accelerometerUpdates() -> SensorUpdates<AccelerometerData> {
        updates(of: .accelerometer, interval: accelerometerUpdateInterval)
    }

    // MARK: Gyroscope

    /// Whether a source provides readings of the gyroscope.
    public var isGyroAvailable: Bool { hub.streams.contains(.gyroscope) }
    /// Whether ``gyroData`` is being updated.
    public var isGyroActive: Bool { latestGyro.isActive }
    /// The time between updates in s, at least 0.0001. The default is 0.02.
    public var gyroUpdateInterval: Double {
        get { settings.withLock { $0.gyroInterval } }
        set { settings.withLock { $0.gyroInterval = Self.checked(newValue) } }
    }
    /// The latest reading since the start; nil before the first.
    public var gyroData: GyroData? { latestGyro.value }
    /// The error that ended the updates of ``gyroData``; nil after a stop.
    public var gyroError: (any Error)? { latestGyro.error }
    /// Starts updating ``gyroData``.
    public func startGyroUpdates() { latestGyro.start(gyroUpdates()) }
    /// Stops the updates and keeps the latest reading.
    public func stopGyroUpdates() { latestGyro.stop() }
    /// Returns readings at the update interval.
    public func gyroUpdates() -> SensorUpdates<GyroData> { updates(of: .gyroscope, interval: gyroUpdateInterval) }

    // MARK: Magnetometer

    /// Whether a source provides readings of the magnetometer.
    public var isMagnetometerAvailable: Bool { hub.streams.contains(.magnetometer) }
    /// Whether ``magnetometerData`` is being updated.
    public var isMagnetometerActive: Bool { latestMagnetometer.isActive }
    /// The time between updates in s, at least 0.0001. The default is 0.02.
    public var magnetometerUpdateInterval: Double {
        get { settings.withLock { $0.magnetometerInterval } }
        set { settings.withLock { $0.magnetometerInterval = Self.checked(newValue) } }
    }
    /// The latest reading since the start; nil before the first.
    public var magnetometerData: MagnetometerData? { latestMagnetometer.value }
    /// The error that ended the updates of ``magnetometerData``; nil after a stop.
    public var magnetometerError: (any Error)? { latestMagnetometer.error }
    /// Starts updating ``magnetometerData``.
    public func startMagnetometerUpdates() { latestMagnetometer.start(magnetometerUpdates()) }
    /// Stops the updates and keeps the latest reading.
    public func stopMagnetometerUpdates() { latestMagnetometer.stop() }
    /// Returns readings at the update interval.
    public func magnetometerUpdates() -> SensorUpdates<MagnetometerData> {
        updates(of: .magnetometer, interval: magnetometerUpdateInterval)
    }

    // MARK: Device motion

    /// Whether device motion is available, for which an accelerometer suffices. A ``/LockstepMotion/DeviceMotion``
    /// contains only the values that the available sensors allow.
    public var isDeviceMotionAvailable: Bool { isAccelerometerAvailable }
    /// Whether ``deviceMotion`` is being updated.
    public var isDeviceMotionActive: Bool { latestDeviceMotion.isActive }
    /// The time between updates in s, at least 0.0001. The default is 0.02.
    public var deviceMotionUpdateInterval: Double {
        get { settings.withLock { $0.deviceMotionInterval } }
        set { settings.withLock { $0.deviceMotionInterval = Self.checked(newValue) } }
    }
    /// The magnetic declination: the angle from true to magnetic north in rad, east positive. If nil, the declination
    /// of the World Magnetic Model at the newest location is used, and is unknown before the first location.
    public var declination: Double? {
        get { settings.withLock { $0.declination } }
        set { settings.withLock { $0.declination = newValue } }
    }
    /// The reference frames that the available sensors and the ``declination`` support.
    public var availableAttitudeReferenceFrames: [AttitudeReferenceFrame] {
        AttitudeReferenceFrame.allCases.filter { frame in
            switch frame {
            case .arbitrary: isDeviceMotionAvailable
            case .arbitraryCorrected, .magneticNorth: isDeviceMotionAvailable && isMagnetometerAvailable
            case .trueNorth:
                isDeviceMotionAvailable && isMagnetometerAvailable
                    && (declination != nil || hub.streams.contains(.location))
            }
        }
    }
    /// The latest device motion since the start; nil before the first.
    public var deviceMotion: DeviceMotion? { latestDeviceMotion.value }
    /// The error that ended the updates of ``deviceMotion``; nil after a stop.
    public var deviceMotionError: (any Error)? { latestDeviceMotion.error }
    /// Starts updating ``deviceMotion``.
    /// - Parameter frame: The reference frame of attitudes. If it is not available, each value states the frame that is
    ///   used instead.
    public func startDeviceMotionUpdates(using frame: AttitudeReferenceFrame = .magneticNorth) {
        latestDeviceMotion.start(deviceMotionUpdates(using: frame))
    }
    /// Stops the updates and keeps the latest value.
    public func stopDeviceMotionUpdates() { latestDeviceMotion.stop() }
    /// Returns device motion at the update interval.
    /// - Parameter frame: The reference frame of attitudes. If it is not available, each value states the frame that is
    ///   used instead.
    public func deviceMotionUpdates(
        using frame: AttitudeReferenceFrame = .magneticNorth
    ) -> SensorUpdates<DeviceMotion> {
        let hub = hub
        let interval = deviceMotionUpdateInterval
        let options = DeviceMotionEstimator.Options(referenceFrame: frame, declination: declination)
        let fast = SensorRequest(rate: max(100, 1 / interval))
        // Request every sample: a low-pass filter for a lower rate would delay the result.
        let field = SensorRequest(rate: .infinity, minimum: 25)
        var candidates: [SensorStream: SensorRequest] = [
            .accelerometer: fast, .gyroscope: fast, .magnetometer: field,
        ]
        if frame == .trueNorth, declination == nil { candidates[.location] = SensorRequest(rate: 1.0 / 60) }
        let requests = candidates.filter { $0.key == .accelerometer || hub.streams.contains($0.key) }
        return SensorUpdates {
            hub.updates(for: requests)
        } makeTransform: {
            var estimator = DeviceMotionEstimator(options: options, sensors: Set(requests.keys))
            var limiter = IntervalLimiter(interval: interval)
            return { update in
                switch update {
                case .samples(let samples): return estimator.update(samples).filter { limiter.accepts($0.timestamp) }
                case .clockStepped:
                    let rest = estimator.finish().filter { limiter.accepts($0.timestamp) }
                    limiter = IntervalLimiter(interval: interval)
                    return rest
                case .status: return []
                }
            }
        }
    }

    private func updates<Data: AxesData>(of stream: SensorStream, interval: Double) -> SensorUpdates<Data> {
        let hub = hub
        return SensorUpdates {
            hub.updates(for: [stream: SensorRequest(rate: 1 / interval)])
        } makeTransform: {
            { update in
                guard case .samples(let samples) = update else { return [] }
                let columns = samples.columns
                return samples.times.enumerated().map { index, time in
                    Data(
                        timestamp: Timestamp(microseconds: time),
                        axes: SIMD3(columns[0][index], columns[1][index], columns[2][index]))
                }
            }
        }
    }

    private static func checked(_ interval: Double) -> Double {
        precondition(interval >= 0.0001 && interval.isFinite, "an update interval must be at least 0.0001 s")
        return interval
    }
}
