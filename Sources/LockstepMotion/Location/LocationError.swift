/// Why there is no location.
public enum LocationError: Error, Sendable, Hashable {
    /// The receiver may not be used: gpsd refuses, or this user has no permission. Trying again will not help.
    case denied(String)
    /// There is no fix yet, or no longer; the receiver keeps trying.
    case locationUnknown(String)
    /// gpsd can't be reached; it is tried again.
    case network(String)
}

extension LocationError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .denied(let why): "location denied: \(why); allow this user to use the receiver, or ask gpsd"
        case .locationUnknown(let why): "location unknown, still trying: \(why)"
        case .network(let why): "location not reachable, trying again: \(why)"
        }
    }
}
