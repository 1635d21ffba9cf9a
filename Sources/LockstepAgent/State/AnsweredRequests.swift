import LockstepModel

/// The newest requests that have an id, with the outcomes of their replies.
///
/// A request can arrive more than once: its requester publishes it again after a reconnect, and the broker delivers a
/// message with QoS 1 again if its PUBACK was lost. The agent repeats the reply instead of performing the request again.
struct AnsweredRequests {
    /// The maximum number of remembered requests. Beyond it, the oldest one is forgotten.
    static let capacity = 1000

    /// An id is unique among the requests of one client.
    private struct Key: Hashable {
        let client: String
        let id: String
    }

    private var entries: [Key: (action: AgentRequest.Action, outcome: AgentReply.Outcome)] = [:]
    /// The keys of `entries`. After the capacity is reached, the oldest key is at `oldest`.
    private var order: [Key] = []
    private var oldest = 0

    /// Returns the outcome with which to answer `request` without performing it, or nil if it is new.
    ///
    /// If the client has used the id for another action, the outcome is a failure.
    func outcome(of request: AgentRequest) -> AgentReply.Outcome? {
        guard let key = Self.key(of: request), let known = entries[key] else { return nil }
        guard known.action == request.action else {
            return .failed("the id '\(key.id)' was used for another request: choose a new id for each request")
        }
        return known.outcome
    }

    /// Remembers the outcome of a new request that was performed or refused.
    mutating func insert(_ request: AgentRequest, _ outcome: AgentReply.Outcome) {
        guard let key = Self.key(of: request), entries[key] == nil else { return }
        entries[key] = (request.action, outcome)
        guard order.count == Self.capacity else { return order.append(key) }
        entries[order[oldest]] = nil
        order[oldest] = key
        oldest = (oldest + 1) % Self.capacity
    }

    /// Returns nil for a request that may be performed again: it has no id, or it changes nothing.
    private static func key(of request: AgentRequest) -> Key? {
        guard request.action != .describe else { return nil }
        return request.id.map { Key(client: request.client ?? "", id: $0) }
    }
}
