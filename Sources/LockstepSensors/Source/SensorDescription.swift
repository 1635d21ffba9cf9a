public import LockstepModel

/// Properties of a sensor that are known before it runs.
public struct SensorDescription: Sendable, Hashable {
    /// The name given by the hardware or the source, such as `bmi160-imu` or `simulate:1`.
    public var name: String
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

    /// Creates a description.
    public init(
        name: String, stream: SensorStream, rates: ClosedRange<Double>? = nil, mountMatrix: [[Double]]? = nil,
        access: String = "", problem: String? = nil
    ) {
        self.name = name
        self.stream = stream
        self.rates = rates
        self.mountMatrix = mountMatrix
        self.access = access
        self.problem = problem
    }

    /// The fastest rate in samples/s at which the sensor can run; nil if unknown.
    public var fastestRate: Double? { mayExceedRates ? nil : rates?.upperBound }
}
