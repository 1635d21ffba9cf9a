/// An MQTT topic filter.
struct TopicFilter: Sendable, Hashable {
    private let levels: [Substring]

    init(_ text: String) { levels = text.split(separator: "/", omittingEmptySubsequences: false) }

    /// Returns whether the filter matches a topic. A wildcard at the start does not match a topic that begins with `$`.
    func matches(_ topic: String) -> Bool {
        let parts = topic.split(separator: "/", omittingEmptySubsequences: false)
        if topic.hasPrefix("$"), let first = levels.first, first == "+" || first == "#" { return false }
        for (index, level) in levels.enumerated() {
            if level == "#" { return true }
            guard index < parts.count, level == "+" || level == parts[index] else { return false }
        }
        return parts.count == levels.count
    }
}
