/// The state of a sensor source.
public enum SourceStatus: Sendable, Hashable {
    /// The source provides samples.
    case running
    /// Provides values of reduced quality, for example from a saturated sensor.
    case degraded(String)
    /// Connected but without values, for example a receiver without a fix.
    case waiting(String)
    /// The newest value is old.
    case stale(String)
    /// Not reachable; the source keeps retrying.
    case unavailable(String)
    /// The recording has been played to its end.
    case ended
}

extension SourceStatus: CustomStringConvertible {
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
