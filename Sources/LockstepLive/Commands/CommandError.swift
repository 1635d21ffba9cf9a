/// The error of a request to an agent.
public enum CommandError: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is no connection to the broker, for this reason.
    case notConnected(String)
    /// The agent did not reply in time.
    case noReply(device: String)
    /// No collector confirmed an acknowledgement in time.
    case notConfirmed
    /// The broker refused the request, for this reason.
    case refused(String)
    /// The reply cannot be decoded, for this reason.
    case invalidReply(device: String, reason: String)
    /// There are as many requests without a reply as the limit allows.
    case tooManyRequests(limit: Int)
    /// The caller's task was cancelled, or the feed has ended.
    case cancelled

    /// The cause, and what to do.
    public var description: String {
        switch self {
        case .notConnected(let reason): "not connected to the broker: \(reason)"
        case .noReply(let device):
            "no reply from \(device): check that its agent is running and connected to the broker"
        case .notConfirmed:
            "no collector confirmed this: check that there is such an event, and that the collector that stored it is "
                + "running and connected to the broker"
        case .refused(let reason): "the broker refused the request: \(reason)"
        case .invalidReply(let device, let reason): "invalid reply from \(device): \(reason)"
        case .tooManyRequests(let limit): "\(limit) requests already wait for a reply: try again later"
        case .cancelled: "the request was cancelled"
        }
    }
}
