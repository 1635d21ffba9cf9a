public import LockstepModel

/// A reading of the accelerometer.
public struct AccelerometerData: Sendable, Hashable {
    public let timestamp: Timestamp
    /// In g along the device's axes, with gravity: (0, 0, −1) at rest, face up.
    public let acceleration: SIMD3<Double>
}

/// A reading of the gyroscope.
public struct GyroData: Sendable, Hashable {
    public let timestamp: Timestamp
    /// In rad/s about the device's axes, right-handed, with the sensor's bias.
    public let rotationRate: SIMD3<Double>
}

/// A reading of the magnetometer.
public struct MagnetometerData: Sendable, Hashable {
    public let timestamp: Timestamp
    /// In µT along the device's axes, with the field of the device itself.
    public let magneticField: SIMD3<Double>
}

/// A reading of three axes.
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
