public import LockstepModel

/// Where samples come from: hardware, a daemon, a recording, a simulation.
public protocol SensorSource: Sendable {
    /// What people call it, as on the command line: `simulate`, `gpsd://localhost:2947`.
    var name: String { get }

    /// The streams it can give.
    var streams: [SensorStream] { get }

    /// Reads until the source ends (a recording) or the task is cancelled.
    ///
    /// A source mends what it can by itself (a daemon that went away) and reports it as a status.
    /// - Throws: what the source can't recover from, with a text that says what to do.
    func run(into sink: any SampleSink) async throws
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
        case .waiting(let what): what
        case .stale(let what): "stale: \(what)"
        case .unavailable(let why): "unavailable: \(why)"
        case .ended: "ended"
        }
    }
}
