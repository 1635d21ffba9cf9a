/// The error for a subscription that is refused.
public enum SubscriptionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// There are as many subscribers as the limit allows.
    case tooManySubscribers(limit: Int)
    /// The live picture was closed.
    case closed

    /// The cause, and what to do.
    public var description: String {
        switch self {
        case .tooManySubscribers(let limit):
            "there are already \(limit) subscribers: close other connections, or try again later"
        case .closed: "the server is stopping: try again later"
        }
    }
}
