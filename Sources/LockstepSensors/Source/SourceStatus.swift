/// The state of a sensor source.
public enum SourceStatus: Sendable, Hashable {
    /// The source provides samples.
    case running
    /// The source provides samples of reduced quality, for example of a saturated sensor.
    case degraded(String)
    /// The source is connected but provides no samples, for example without a fix.
    case waiting(String)
    /// The newest sample is old.
    case stale(String)
    /// The source cannot reach its hardware or daemon, and keeps retrying.
    case unavailable(String)
    /// The recording has been played to its end.
    case ended
}

extension SourceStatus: CustomStringConvertible {
    /// The status as a phrase, with the reason.
    public var description: String {
        switch self {
        case .running: "running"
        case .degraded(let reason): "degraded: \(reason)"
        case .waiting(let reason): reason
        case .stale(let reason): "stale: \(reason)"
        case .unavailable(let reason): "unavailable: \(reason)"
        case .ended: "ended"
        }
    }
}
