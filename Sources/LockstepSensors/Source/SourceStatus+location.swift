public import LockstepMotion

extension SourceStatus {
    /// What a source of locations in this state means for whoever asked for one; nil while there is nothing wrong, and
    /// at the end of a recording.
    ///
    /// A source tells its reasons in words; those of the system and of gpsd that speak of permission are *denied*.
    public var locationError: LocationError? {
        switch self {
        case .running, .degraded, .ended: return nil
        case .waiting(let what): return isAboutPermission(what) ? .denied(what) : .locationUnknown(what)
        case .stale(let what): return .locationUnknown(what)
        case .unavailable(let why): return isAboutPermission(why) ? .denied(why) : .network(why)
        }
    }

    private func isAboutPermission(_ text: String) -> Bool {
        let words = ["permission", "not permitted", "denied", "not allowed", "unauthorized"]
        let text = text.lowercased()
        return words.contains { text.contains($0) }
    }
}
