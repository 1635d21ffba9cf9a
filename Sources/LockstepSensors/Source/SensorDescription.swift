public import LockstepModel

/// What there is to know of one sensor before it runs.
public struct SensorDescription: Sendable, Hashable {
    /// What the hardware or the source calls it: `bmi160-imu`, `simulate:1`.
    public var name: String
    /// The stream that it gives.
    public var stream: SensorStream
    /// Samples a second that it can be set to, slowest and fastest; nil where it has a pace of its own.
    public var rates: ClosedRange<Double>?
    /// How the sensor is built in: rows of the matrix that takes its axes to those of the device; nil where nobody says.
    public var mountMatrix: [[Double]]?
    /// How it is read, in words: `buffered, /dev/iio:device0`, `polled`.
    public var access: String
    /// Why it can't be used; nil where it can.
    public var problem: String?

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
}
