public import LockstepModel

/// Where samples come from: hardware, a daemon, a recording, a simulation.
public protocol SensorSource: Sendable {
    /// What people call it, as on the command line: `simulate`, `gpsd://localhost:2947`.
    var name: String { get }

    /// The streams it can give.
    var streams: [SensorStream] { get }

    /// What sensors there are, and those that can't be used with the reason why: for people.
    func sensors() -> [SensorDescription]

    /// Samples a second of a stream that the source goes by unless told otherwise; nil where its pace can't be changed.
    func nativeRate(of stream: SensorStream) -> Double?

    /// Says how many samples a second are wanted of each stream; of one that is not named nobody wants any, and its
    /// sensor may stop. `.infinity` is as fast as the source goes by itself.
    ///
    /// May be called at any time, before ``run(into:)`` and during it. A source gives the nearest rate that it has at or
    /// above the one wanted, else its fastest; one that has a pace of its own (a recording, a receiver) keeps to it.
    /// Before the first call everything is wanted at its own pace. It is called under a lock: it must not call back, nor
    /// hand over samples.
    func setRates(_ rates: [SensorStream: Double])

    /// Reads until the source ends (a recording) or the task is cancelled.
    ///
    /// A source mends what it can by itself (a daemon that went away) and reports it as a status.
    /// - Throws: what the source can't recover from, with a text that says what to do.
    func run(into sink: any SampleSink) async throws
}

extension SensorSource {
    /// One for each stream, with nothing but its name.
    public func sensors() -> [SensorDescription] { streams.map { SensorDescription(name: name, stream: $0) } }

    /// None that could be changed.
    public func nativeRate(of stream: SensorStream) -> Double? { nil }

    /// Keeps its own pace.
    public func setRates(_ rates: [SensorStream: Double]) {}
}

/// Who takes a source's samples.
public protocol SampleSink: Sendable {
    /// Hands over samples in the order of their time; waits while the receiver is behind.
    func accept(_ samples: SampleBlock, clock: SampleClock) async

    /// Says how the source is: shown in the agent's presence, and logged when it changes.
    func report(_ status: SourceStatus, from source: String)
}

/// What the timestamps of a source's samples count from.
public enum SampleClock: Sendable, Hashable {
    /// µs of the boot clock (`CLOCK_BOOTTIME`): the agent puts them on its time line.
    case boot
    /// µs since 1970, the source's own word: taken as they are.
    case own
}

/// How a source is.
public enum SourceStatus: Sendable, Hashable {
    case running
    /// Gives values that are to be doubted, or not as good as they could be: a saturated sensor, say.
    case degraded(String)
    /// Reached, but without values: a receiver without a fix, say.
    case waiting(String)
    /// Its last value is old.
    case stale(String)
    /// Not reached; it keeps trying.
    case unavailable(String)
    /// A recording has been read to its end.
    case ended
}

extension SourceStatus: CustomStringConvertible {
    public var description: String {
        switch self {
        case .running: "running"
        case .degraded(let what): "degraded: \(what)"
        case .waiting(let what): what
        case .stale(let what): "stale: \(what)"
        case .unavailable(let why): "unavailable: \(why)"
        case .ended: "ended"
        }
    }
}
