public import LockstepModel

/// Properties of a sensor that are known before it runs.
public struct SensorDescription: Sendable, Hashable {
    /// The name given by the hardware or the source, such as `bmi160-imu` or `simulate:1`.
    public var name: String
    /// The label by which firmware or board tell several sensors of a kind apart, such as `accel-display`; nil if there
    /// is none.
    public var label: String?
    /// Where the sensor is mounted, such as `lid`; nil if it is unknown.
    public var location: String?
    /// The stream that the sensor provides.
    public var stream: SensorStream
    /// The supported rates in samples/s, slowest to fastest; nil if the rate is fixed or unknown.
    public var rates: ClosedRange<Double>?
    /// Whether the sensor may run faster than ``rates``, because they are only its current rate or those of its current
    /// access method.
    public var mayExceedRates = false
    /// The rows of the rotation matrix from sensor axes to device axes; nil if the mounting is unknown.
    public var mountMatrix: [[Double]]?
    /// The access method for users, such as `buffered, /dev/iio:device0` or `polled`.
    public var access: String
    /// The reason why the sensor cannot be used; nil if it can be used.
    public var problem: String?
    /// Why the values of a usable sensor may be wrong; nil if nothing is known.
    public var warning: String?

    /// Creates a description.
    public init(
        name: String, label: String? = nil, location: String? = nil, stream: SensorStream,
        rates: ClosedRange<Double>? = nil, mountMatrix: [[Double]]? = nil, access: String = "", problem: String? = nil,
        warning: String? = nil
    ) {
        self.name = name
        self.label = label
        self.location = location
        self.stream = stream
        self.rates = rates
        self.mountMatrix = mountMatrix
        self.access = access
        self.problem = problem
        self.warning = warning
    }

    /// The fastest rate in samples/s at which the sensor can run; nil if unknown.
    public var fastestRate: Double? { mayExceedRates ? nil : rates?.upperBound }
}
