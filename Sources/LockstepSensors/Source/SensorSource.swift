public import LockstepModel

/// A producer of samples: hardware, a daemon, a recording or a simulation.
public protocol SensorSource: Sendable {
    /// The name for users, as on the command line, such as `simulate:1` or `gpsd://localhost:2947`.
    var name: String { get }

    /// The streams that the source can provide.
    var streams: [SensorStream] { get }

    /// Returns a description of every sensor, including unusable ones with the reason.
    func sensors() -> [SensorDescription]

    /// Returns the rate of a stream in samples/s when none is requested, or nil if its rate cannot be changed.
    func nativeRate(of stream: SensorStream) -> Double?

    /// Sets the requested rate of each stream in samples/s.
    ///
    /// A stream that `rates` does not contain is not requested, and its sensor may stop. `.infinity` requests the
    /// native rate. The source uses the lowest supported rate at or above the requested one, or its fastest if there is
    /// none. A source with a fixed rate (a recording, a receiver) ignores the value. Before the first call every stream
    /// is requested at its native rate.
    ///
    /// May be called at any time, before and during ``run(into:)``. It is called under a lock: implementations must not
    /// call back or deliver samples from it.
    func setRates(_ rates: [SensorStream: Double])

    /// Delivers samples until the source ends (a recording) or the task is cancelled.
    ///
    /// Recoverable failures, such as a daemon that went away, are retried and reported as a status.
    /// - Throws: An unrecoverable error, whose description includes advice.
    func run(into sink: any SampleSink) async throws
}

extension SensorSource {
    /// Returns one description per stream that holds only the source's name.
    public func sensors() -> [SensorDescription] { streams.map { SensorDescription(name: name, stream: $0) } }

    /// Returns nil: by default the rate cannot be changed.
    public func nativeRate(of stream: SensorStream) -> Double? { nil }

    /// Does nothing: by default the rate cannot be changed.
    public func setRates(_ rates: [SensorStream: Double]) {}
}

/// A consumer of a source's samples and statuses.
public protocol SampleSink: Sendable {
    /// Accepts samples in time order. Suspends while the consumer is behind (back-pressure).
    func accept(_ samples: SampleBlock, clock: SampleClock) async

    /// Reports the status of a source. The agent logs each change and publishes the status with its presence.
    func report(_ status: SourceStatus, from source: String)
}

/// The clock of a source's timestamps.
public enum SampleClock: Sendable, Hashable {
    /// µs of the boot clock (`CLOCK_BOOTTIME`); the agent maps them to its time line.
    case boot
    /// µs since 1970 as provided by the source; kept unchanged.
    case own
}

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
