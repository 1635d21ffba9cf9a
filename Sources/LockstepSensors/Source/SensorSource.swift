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
