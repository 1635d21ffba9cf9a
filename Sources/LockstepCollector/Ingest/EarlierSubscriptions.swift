/// Finds the subscriptions that the session of a collector still has from earlier settings.
///
/// A broker keeps them with the session, and no client can ask for them. They show by the messages that they deliver: a
/// topic outside of the collector's scope, or one that an earlier, narrower subscription delivers a second time.
struct EarlierSubscriptions {
    /// The maximum number of filters for each connection, because a client could invent topics.
    static let maxFilters = 1000
    /// The minimum time between two reports, in µs.
    static let reportInterval: Int64 = 60_000_000

    /// Whether the session may have existed before the connection.
    private var isResumed = true
    /// The filters that were found on this connection.
    private var found: Set<String> = []
    /// The filters to unsubscribe from.
    private(set) var pending: [String] = []
    /// The number of messages outside of the scope since the last report.
    private var outside = 0
    private var topic = ""
    private var reportedAt = Int64.min / 2

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

    /// Records a message outside of the collector's scope.
    mutating func receivedOutside(_ topic: String, of scope: CollectorScope) {
        outside += 1
        self.topic = topic
        add(scope.foreignFilters(matching: topic))
    }

    private mutating func add(_ filters: [String]) {
        for filter in filters where found.count < Self.maxFilters && found.insert(filter).inserted {
            pending.append(filter)
        }
    }

    /// Takes the filters to unsubscribe from.
    mutating func takePending() -> [String] {
        defer { pending = [] }
        return pending
    }

    /// Returns the number of messages outside of the scope since the last report and the topic of the last one, or nil if
    /// there is nothing to report now.
    /// - Parameter boot: the time in µs of the boot clock.
    mutating func takeReport(at boot: Int64) -> (messages: Int, topic: String)? {
        guard outside > 0, boot - reportedAt >= Self.reportInterval else { return nil }
        reportedAt = boot
        defer { outside = 0 }
        return (outside, topic)
    }
}
