public import LockstepModel

/// A reading of the accelerometer.
public struct AccelerometerData: Sendable, Hashable {
    /// The time of the measurement.
    public let timestamp: Timestamp
    /// The acceleration in g along the device's axes, including gravity: (0, 0, −1) at rest, face up.
    public let acceleration: SIMD3<Double>
}

/// A reading of the gyroscope.
public struct GyroData: Sendable, Hashable {
    /// The time of the measurement.
    public let timestamp: Timestamp
    /// The rotation rate in rad/s about the device's axes, right-handed, including the sensor's bias.
    public let rotationRate: SIMD3<Double>
}

/// A reading of the magnetometer.
public struct MagnetometerData: Sendable, Hashable {
    /// The time of the measurement.
    public let timestamp: Timestamp
    /// The magnetic field in µT along the device's axes, including the field of the device itself.
    public let magneticField: SIMD3<Double>
}

/// A reading with three axes.
protocol AxesData: Sendable {
    init(timestamp: Timestamp, axes: SIMD3<Double>)
}

extension AccelerometerData: AxesData {
    init(timestamp: Timestamp, axes: SIMD3<Double>) { self.init(timestamp: timestamp, acceleration: axes) }
}

extension GyroData: AxesData {
    init(timestamp: Timestamp, axes: SIMD3<Double>) { self.init(timestamp: timestamp, rotationRate: axes) }
}

extension MagnetometerData: AxesData {
    init(timestamp: Timestamp, axes: SIMD3<Double>) { self.init(timestamp: timestamp, magneticField: axes) }
}
