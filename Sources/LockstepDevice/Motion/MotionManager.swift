import LockstepModel
public import LockstepMotion
import LockstepSensors
import Synchronization

/// Accelerometer, gyroscope, magnetometer and device motion of this device: pushed as sequences, or pulled as the latest.
///
/// For each sensor there is a sequence of updates, which any number of handlers may read at once, and a pair of start
/// and stop between which the latest reading can be asked for. A sensor runs while one of them needs it, whichever
/// manager of the ``SensorHub`` it belongs to; a sequence ends its part with its loop, start with stop or with the
/// manager. Update intervals are those at the time of the call.
public final class MotionManager: Sendable {
    private let hub: SensorHub
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

    /// A manager of a hub's sensors, which asks for nothing yet.
    public init(hub: SensorHub) { self.hub = hub }

    // MARK: Accelerometer

    /// Whether a source gives its readings.
    public var isAccelerometerAvailable: Bool { hub.streams.contains(.accelerometer) }
    /// Whether ``accelerometerData`` is being updated.
    public var isAccelerometerActive: Bool { latestAccelerometer.isActive }
    /// s between updates, 0.0001 at least; 0.02 unless set.
    public var accelerometerUpdateInterval: Double {
        get { settings.withLock { $0.accelerometerInterval } }
        set { settings.withLock { $0.accelerometerInterval = Self.checked(newValue) } }
    }
    /// The latest reading since the start; nil before the first.
    public var accelerometerData: AccelerometerData? { latestAccelerometer.value }
    /// What ended the updates of ``accelerometerData``, if it was not a stop.
    public var accelerometerError: (any Error)? { latestAccelerometer.error }
    /// Begins to keep ``accelerometerData`` up to date.
    public func startAccelerometerUpdates() { latestAccelerometer.start(accelerometerUpdates()) }
    /// Ends that; the latest reading stays.
    public func stopAccelerometerUpdates() { latestAccelerometer.stop() }
    /// Readings as they come.
    public func accelerometerUpdates() -> SensorUpdates<AccelerometerData> {
        updates(of: .accelerometer, interval: accelerometerUpdateInterval)
    }

    // MARK: Gyroscope

    /// Whether a source gives its readings.
    public var isGyroAvailable: Bool { hub.streams.contains(.gyroscope) }
    /// Whether ``gyroData`` is being updated.
    public var isGyroActive: Bool { latestGyro.isActive }
    /// s between updates, 0.0001 at least; 0.02 unless set.
    public var gyroUpdateInterval: Double {
        get { settings.withLock { $0.gyroInterval } }
        set { settings.withLock { $0.gyroInterval = Self.checked(newValue) } }
    }
    /// The latest reading since the start; nil before the first.
    public var gyroData: GyroData? { latestGyro.value }
    /// What ended the updates of ``gyroData``, if it was not a stop.
    public var gyroError: (any Error)? { latestGyro.error }
    /// Begins to keep ``gyroData`` up to date.
    public func startGyroUpdates() { latestGyro.start(gyroUpdates()) }
    /// Ends that; the latest reading stays.
    public func stopGyroUpdates() { latestGyro.stop() }
    /// Readings as they come.
    public func gyroUpdates() -> SensorUpdates<GyroData> { updates(of: .gyroscope, interval: gyroUpdateInterval) }

    // MARK: Magnetometer

    /// Whether a source gives its readings.
    public var isMagnetometerAvailable: Bool { hub.streams.contains(.magnetometer) }
    /// Whether ``magnetometerData`` is being updated.
    public var isMagnetometerActive: Bool { latestMagnetometer.isActive }
    /// s between updates, 0.0001 at least; 0.02 unless set.
    public var magnetometerUpdateInterval: Double {
        get { settings.withLock { $0.magnetometerInterval } }
        set { settings.withLock { $0.magnetometerInterval = Self.checked(newValue) } }
    }
    /// The latest reading since the start; nil before the first.
    public var magnetometerData: MagnetometerData? { latestMagnetometer.value }
    /// What ended the updates of ``magnetometerData``, if it was not a stop.
    public var magnetometerError: (any Error)? { latestMagnetometer.error }
    /// Begins to keep ``magnetometerData`` up to date.
    public func startMagnetometerUpdates() { latestMagnetometer.start(magnetometerUpdates()) }
    /// Ends that; the latest reading stays.
    public func stopMagnetometerUpdates() { latestMagnetometer.stop() }
    /// Readings as they come.
    public func magnetometerUpdates() -> SensorUpdates<MagnetometerData> {
        updates(of: .magnetometer, interval: magnetometerUpdateInterval)
    }

    // MARK: Device motion

    /// Whether there is an accelerometer at least. What is lacking beside it each ``DeviceMotion`` says.
    public var isDeviceMotionAvailable: Bool { isAccelerometerAvailable }
    /// Whether ``deviceMotion`` is being updated.
    public var isDeviceMotionActive: Bool { latestDeviceMotion.isActive }
    /// s between updates, 0.0001 at least; 0.02 unless set.
    public var deviceMotionUpdateInterval: Double {
        get { settings.withLock { $0.deviceMotionInterval } }
        set { settings.withLock { $0.deviceMotionInterval = Self.checked(newValue) } }
    }
    /// The angle from true to magnetic north at this place, in rad, east positive; nil while it is not known.
    public var declination: Double? {
        get { settings.withLock { $0.declination } }
        set { settings.withLock { $0.declination = newValue } }
    }
    /// The frames that attitudes can be told in with the sensors there are, and the ``declination`` if it is known.
    public var availableAttitudeReferenceFrames: [AttitudeReferenceFrame] {
        AttitudeReferenceFrame.allCases.filter { frame in
            switch frame {
            case .arbitrary: isDeviceMotionAvailable
            case .arbitraryCorrected, .magneticNorth: isDeviceMotionAvailable && isMagnetometerAvailable
            case .trueNorth: isDeviceMotionAvailable && isMagnetometerAvailable && declination != nil
            }
        }
    }
    /// The latest since the start; nil before the first.
    public var deviceMotion: DeviceMotion? { latestDeviceMotion.value }
    /// What ended the updates of ``deviceMotion``, if it was not a stop.
    public var deviceMotionError: (any Error)? { latestDeviceMotion.error }
    /// Begins to keep ``deviceMotion`` up to date.
    /// - Parameter frame: what attitudes are measured against; where that can't be had, each says against what.
    public func startDeviceMotionUpdates(using frame: AttitudeReferenceFrame = .magneticNorth) {
        latestDeviceMotion.start(deviceMotionUpdates(using: frame))
    }
    /// Ends that; the latest stays.
    public func stopDeviceMotionUpdates() { latestDeviceMotion.stop() }
    /// Device motion as it comes.
    /// - Parameter frame: what attitudes are measured against; where that can't be had, each says against what.
    public func deviceMotionUpdates(
        using frame: AttitudeReferenceFrame = .magneticNorth
    ) -> SensorUpdates<DeviceMotion> {
        let hub = hub
        let interval = deviceMotionUpdateInterval
        let options = DeviceMotionEstimator.Options(referenceFrame: frame, declination: declination)
        let fast = SensorRequest(rate: max(100, 1 / interval))
        // Every sample as it comes: a low pass to a rate of its own would make all of it late.
        let field = SensorRequest(rate: .infinity, minimum: 25)
        let wanted: [SensorStream: SensorRequest] = [.accelerometer: fast, .gyroscope: fast, .magnetometer: field]
        let requests = wanted.filter { $0.key == .accelerometer || hub.streams.contains($0.key) }
        return SensorUpdates {
            hub.updates(for: requests)
        } makeTransform: {
            var estimator = DeviceMotionEstimator(options: options, sensors: Set(requests.keys))
            var pace = Pace(interval: interval)
            return { update in
                switch update {
                case .samples(let samples): return estimator.update(samples).filter { pace.takes($0.timestamp) }
                case .clockStepped:
                    let rest = estimator.finish().filter { pace.takes($0.timestamp) }
                    pace = Pace(interval: interval)
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
        precondition(interval >= 0.0001 && interval.isFinite, "an update interval is 0.0001 s at least")
        return interval
    }
}

/// Lets one through for each interval; all, where they come no faster.
private struct Pace {
    /// µs.
    private let interval: Double
    private var slot = Int64.min
    private var last: Timestamp?
    /// The mean time between samples, in µs.
    private var spacing: Double

    init(interval: Double) {
        self.interval = interval * 1e6
        spacing = 0
    }

    mutating func takes(_ time: Timestamp) -> Bool {
        if let last {
            let elapsed = Double(time - last)
            spacing += (elapsed - spacing) / (spacing == 0 ? 1 : 16)
        }
        last = time
        let present = Int64((Double(time.microseconds) / interval).rounded(.down))
        defer { slot = present }
        // Jitter must not put two into one slot, and none into the next.
        return present != slot || spacing > 0.9 * interval
    }
}
