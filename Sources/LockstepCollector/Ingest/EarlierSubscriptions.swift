import LockstepMQTT

/// Finds the subscriptions that the session of a collector still has from earlier settings.
///
/// A broker keeps them with the session, and no client can ask for them. They show by the messages that they deliver: a
/// topic outside of the collector's scope, or one that an earlier, narrower subscription delivers a second time.
struct EarlierSubscriptions {
    /// The maximum number of filters for each connection, because a client could invent topics.
    static let maxFilters = 1000

    /// Whether the session may have existed before the connection.
    private var isResumed = true
    /// The filters that were found on this connection.
    private var found: Set<String> = []
    /// The filters to unsubscribe from.
    private(set) var pending: [String] = []
    /// The messages outside of the scope.
    private var outside = UnhandledMessages()

    /// Begins a connection. Messages that were read together with the broker's answer have been recorded before.
    mutating func connected(sessionPresent: Bool) {
        isResumed = sessionPresent
        // The broker may not have received what was sent before the connection was lost.
        pending = sessionPresent ? found.sorted() : []
        found = Set(pending)
    }

    /// Records the first message of a topic in the collector's scope.
    mutating func receivedTopic(_ topic: String, in scope: CollectorScope) {
        // Most messages come from a session without earlier subscriptions, or a new one.
        guard isResumed else { return }
        add(scope.foreignFilters(matching: topic))
    }

    mutating func receivedOutside(_ topic: String, of scope: CollectorScope) {
        outside.add(topic)
        add(scope.foreignFilters(matching: topic))
    }

    private mutating func add(_ filters: [String]) {
        for filter in filters where found.count < Self.maxFilters && found.insert(filter).inserted {
            pending.append(filter)
        }
    }

    mutating func takePending() -> [String] {
        defer { pending = [] }
        return pending
    }

    /// Returns the number of messages outside of the scope since the last report and the topic of the last one, or nil if
    /// there is nothing to report now.
    /// - Parameter boot: the time in µs of the boot clock.
    mutating func takeReport(at boot: Int64) -> (messages: Int, topic: String)? {
        outside.takeReport(at: boot)
    }
}
