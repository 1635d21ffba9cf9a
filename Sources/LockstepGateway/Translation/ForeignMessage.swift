public import LockstepModel

/// A message of a foreign sender, as it arrived.
public struct ForeignMessage: Sendable {
    /// The way on which a message arrived.
    public enum Origin: Sendable, Hashable {
        /// An MQTT topic.
        case topic(String)
        /// An HTTP request.
        case request(HTTPFacts)
    }

    /// The way on which the message arrived.
    public var origin: Origin
    /// The body of the message.
    public var payload: [UInt8]
    /// Whether the broker kept the message for new subscribers, so that it may be old.
    public var isRetained: Bool
    /// The time of arrival.
    public var receivedAt: Timestamp
    /// The maximum size of the payload without texts that a format skips, in bytes.
    public var contentLimit = 1 << 20

    /// Creates a message.
    public init(origin: Origin, payload: [UInt8], isRetained: Bool = false, receivedAt: Timestamp) {
        self.origin = origin
        self.payload = payload
        self.isRetained = isRetained
        self.receivedAt = receivedAt
    }

    /// The levels of the MQTT topic; nil for a message that arrived by HTTP.
    public var topicLevels: [String]? {
        guard case .topic(let topic) = origin else { return nil }
        return topic.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    }

    /// The facts of the HTTP request; nil for a message that arrived by MQTT.
    public var request: HTTPFacts? {
        if case .request(let facts) = origin { facts } else { nil }
    }
}

/// The parts of an HTTP request that translators use.
public struct HTTPFacts: Sendable, Hashable {
    /// The path, such as `/owntracks`.
    public var path: String
    /// The decoded parameters of the query.
    public var query: [String: String]
    /// The headers, with names in lower case.
    public var headers: [String: String]
    /// The authenticated user, or nil if the server does not authenticate its users.
    public var user: String?

    /// Creates the facts of a request.
    public init(
        path: String, query: [String: String] = [:], headers: [String: String] = [:], user: String? = nil
    ) {
        self.path = path
        self.query = query
        self.headers = headers
        self.user = user
    }
}

/// A message that its receiver has translated itself, because its translation depends on earlier messages.
public struct TranslatedMessage: Sendable {
    /// The content, or the reason why nothing of the message can be used.
    public var translation: Result<Translation, Refusal>
    /// The origin, for the log: a topic or a URL.
    public var source: String
    /// Whether the broker kept the message for new subscribers, so that it may be old.
    public var isRetained: Bool
    /// The authenticated user who sent the message, or nil if there is none.
    public var user: String?
    /// The time of arrival.
    public var receivedAt: Timestamp

    /// Creates a message.
    public init(
        _ translation: Result<Translation, Refusal>, from source: String, isRetained: Bool = false,
        receivedAt: Timestamp
    ) {
        self.translation = translation
        self.source = source
        self.isRetained = isRetained
        self.receivedAt = receivedAt
    }
}

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
