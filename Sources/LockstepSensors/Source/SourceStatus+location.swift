public import LockstepMotion

extension SourceStatus {
    /// The location error that corresponds to this status of a location source; nil if the source runs or has ended.
    ///
    /// A status contains only a text. Reasons that mention permissions become
    /// ``/LockstepMotion/LocationError/denied(_:)``.
    public var locationError: LocationError? {
        switch self {
        case .running, .degraded, .ended: return nil
        case .waiting(let reason): return isAboutPermission(reason) ? .denied(reason) : .locationUnknown(reason)
        case .stale(let reason): return .locationUnknown(reason)
        case .unavailable(let reason): return isAboutPermission(reason) ? .denied(reason) : .network(reason)
        }
    }

    private func isAboutPermission(_ text: String) -> Bool {
        let words = ["permission", "not permitted", "denied", "not allowed", "unauthorized"]
        let text = text.lowercased()
        return words.contains { text.contains($0) }
    }
}
