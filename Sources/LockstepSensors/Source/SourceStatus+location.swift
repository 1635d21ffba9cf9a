public import LockstepMotion

extension SourceStatus {
    /// The error that this status of a location source means to a subscriber; nil if there is none, and at the end of a
    /// recording.
    ///
    /// Statuses carry only text. Reasons from the system or gpsd that mention permissions become `denied`.
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
