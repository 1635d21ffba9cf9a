public import LockstepModel

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
