public import LockstepModel

/// The fused motion of a device at one moment. Vectors are along the device's axes.
public struct DeviceMotion: Sendable, Hashable {
    /// The time of the accelerometer sample.
    public var timestamp: Timestamp
    /// The orientation of the device in ``referenceFrame``.
    public var attitude: Attitude
    /// The frame of ``attitude``: the requested frame, or the best one that the sensors allow.
    public var referenceFrame: AttitudeReferenceFrame
    /// The contribution of gravity to the accelerometer in g: (0, 0, −1) face up.
    public var gravity: SIMD3<Double>
    /// The acceleration without gravity in g: the accelerometer reads ``gravity`` plus this. Gravity reads as −1
    /// upward, so a push upward reads as a negative value too.
    public var userAcceleration: SIMD3<Double>
    /// The rotation rate without the gyroscope's bias, in rad/s; nil without a gyroscope.
    public var rotationRate: SIMD3<Double>?
    /// The calibrated magnetic field; nil without a magnetometer.
    public var magneticField: CalibratedMagneticField?

    /// Creates device motion from known values.
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

    /// The direction of the device's y axis in rad clockwise from north, 0…2π; nil if the frame has no north.
    public var heading: Double? {
        guard referenceFrame == .magneticNorth || referenceFrame == .trueNorth else { return nil }
        let yaw = attitude.yaw
        return yaw > 0 ? 2 * .pi - yaw : -yaw
    }
}

/// The magnetic field without the device's own influence.
public struct CalibratedMagneticField: Sendable, Hashable {
    /// The field in µT along the device's axes, corrected for the known influence of the device itself.
    public var field: SIMD3<Double>
    /// The accuracy of the calibration.
    public var accuracy: Accuracy

    /// The accuracy with which the device's own field is known.
    public enum Accuracy: Int, Sendable, Hashable, Comparable {
        /// Unknown: the device has not been rotated enough.
        case uncalibrated = -1
        /// Known to a few µT, or the field is disturbed by a magnetic object.
        case low = 0
        /// Known to about 3 µT.
        case medium = 1
        /// Known to about 1 µT.
        case high = 2

        /// Orders accuracies from uncalibrated to high.
        public static func < (left: Accuracy, right: Accuracy) -> Bool { left.rawValue < right.rawValue }
    }

    /// Creates a field with its accuracy.
    public init(field: SIMD3<Double>, accuracy: Accuracy) {
        self.field = field
        self.accuracy = accuracy
    }
}
