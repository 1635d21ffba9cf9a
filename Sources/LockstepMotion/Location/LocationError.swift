/// The reason why there is no location.
public enum LocationError: Error, Sendable, Hashable {
    /// gpsd or the system denies access to the receiver. Retrying does not help.
    case denied(String)
    /// There is no fix yet, or it was lost. The receiver keeps trying.
    case locationUnknown(String)
    /// gpsd cannot be reached. The connection is retried.
    case network(String)
}

extension LocationError: CustomStringConvertible {
    /// The error with advice.
    public var description: String {
        switch self {
        case .denied(let reason): "location denied: \(reason); grant gpsd or this user access to the receiver"
        case .locationUnknown(let reason): "location unknown, retrying: \(reason)"
        case .network(let reason): "location source not reachable, retrying: \(reason)"
        }
    }
}
