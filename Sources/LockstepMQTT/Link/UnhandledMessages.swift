/// Counts received messages that nobody handles, for one log entry a minute.
///
/// They come from subscriptions of earlier settings, which a broker keeps with the session.
package struct UnhandledMessages: Sendable {
    /// The minimum time between two reports, in µs.
    private static let interval: Int64 = 60_000_000

    private var count = 0
    private var topic = ""
    private var reportedAt = Int64.min / 2

    package init() {}

    /// Counts a message.
    package mutating func add(_ topic: String) {
        count += 1
        self.topic = topic
    }

    /// Returns the number of messages since the last report and the topic of the last one, or nil if there is nothing to
    /// report now.
    /// - Parameter boot: the time in µs of the boot clock.
    package mutating func takeReport(at boot: Int64) -> (messages: Int, topic: String)? {
        guard count > 0, boot - reportedAt >= Self.interval else { return nil }
        reportedAt = boot
        defer { count = 0 }
        return (count, topic)
    }
}
