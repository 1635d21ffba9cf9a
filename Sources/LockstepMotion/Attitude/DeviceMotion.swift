public import LockstepModel

/// What fusion tells of a device at one moment. Vectors are along the device's axes.
public struct DeviceMotion: Sendable, Hashable {
    public var timestamp: Timestamp
    public var attitude: Attitude
    /// What ``attitude`` is measured against: the frame asked for, or the best that the sensors allow.
    public var referenceFrame: AttitudeReferenceFrame
    /// The part of gravity in the accelerometer, in g: (0, 0, −1) face up.
    public var gravity: SIMD3<Double>
    /// What the accelerometer has beside gravity, in g: the accelerometer is ``gravity`` plus this. As gravity pulls
    /// the reading down, so does a push upward.
    public var userAcceleration: SIMD3<Double>
    /// Without the gyroscope's bias, in rad/s; nil without a gyroscope.
    public var rotationRate: SIMD3<Double>?
    /// nil without a magnetometer.
    public var magneticField: CalibratedMagneticField?

    public init(
        timestamp: Timestamp, attitude: Attitude, referenceFrame: AttitudeReferenceFrame, gravity: SIMD3<Double>,
        userAcceleration: SIMD3<Double>, rotationRate: SIMD3<Double>? = nil,
        magneticField: CalibratedMagneticField? = nil
    ) {
        self.timestamp = timestamp
        self.attitude = attitude
        self.referenceFrame = referenceFrame
        self.gravity = gravity
        self.userAcceleration = userAcceleration
        self.rotationRate = rotationRate
        self.magneticField = magneticField
    }

    /// Where the device's y axis points, in rad clockwise from north, 0…2π; nil where the frame has no north.
    public var heading: Double? {
        guard referenceFrame == .magneticNorth || referenceFrame == .trueNorth else { return nil }
        let yaw = attitude.yaw
        return yaw > 0 ? 2 * .pi - yaw : -yaw
    }
}

/// The magnetic field without that of the device itself.
public struct CalibratedMagneticField: Sendable, Hashable {
    /// In µT along the device's axes, without what is known of the device's own.
    public var field: SIMD3<Double>
    public var accuracy: Accuracy

    /// How well the device's own field is known.
    public enum Accuracy: Int, Sendable, Hashable, Comparable {
        /// Not at all: the device has not been turned enough.
        case uncalibrated = -1
        /// To some µT, or something magnetic is near.
        case low = 0
        /// To about 3 µT.
        case medium = 1
        /// To about 1 µT.
        case high = 2

        public static func < (left: Accuracy, right: Accuracy) -> Bool { left.rawValue < right.rawValue }
    }

    public init(field: SIMD3<Double>, accuracy: Accuracy) {
        self.field = field
        self.accuracy = accuracy
    }
}
