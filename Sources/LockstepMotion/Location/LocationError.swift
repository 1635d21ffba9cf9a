/// The reason why there is no location.
public enum LocationError: Error, Sendable, Hashable {
    /// Access to the receiver is denied by gpsd or by the system. A retry does not help.
    case denied(String)
    /// There is no fix yet, or no longer. The receiver keeps trying.
    case locationUnknown(String)
    /// gpsd cannot be reached. The connection is retried.
    case network(String)
}

extension LocationError: CustomStringConvertible {
    /// The error with advice.
    public var description: String {
        switch self {
        case .denied(let why): "location denied: \(why); allow this user to use the receiver, or ask gpsd"
        case .locationUnknown(let why): "location unknown, still trying: \(why)"
        case .network(let why): "location not reachable, trying again: \(why)"
        }
    }
}
