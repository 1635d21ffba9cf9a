public import LockstepModel

/// The last known presence of the sender of a device, as the outbox keeps it.
public struct OutboxPresence: Sendable, Hashable {
    /// The phase.
    public var phase: Phase
    /// The cause, in the words of the format.
    public var reason: String
    /// The time of the phase.
    public var at: Timestamp
    /// The format of the sender, which decides the limits of silence.
    public var format: String
    /// The time of the last message of the sender, at most ``heardInterval`` before the true one.
    public var heardAt: Timestamp
    /// Whether the broker has acknowledged the message with this presence.
    public var isPublished: Bool

    /// The interval at which the time of the last message is saved, in µs.
    static let heardInterval: Int64 = 60_000_000

    /// Creates a presence.
    public init(
        phase: Phase, reason: String, at: Timestamp, format: String, heardAt: Timestamp, isPublished: Bool = false
    ) {
        self.phase = phase
        self.reason = reason
        self.at = at
        self.format = format
        self.heardAt = heardAt
        self.isPublished = isPublished
    }
}

/// What the messages of a device since the last commit show about the presence of its sender.
struct SenderContact: Sendable, Hashable {
    /// The format of the last message.
    var format: String
    /// The last presence, or nil if none of the messages has one.
    var presence: ForeignPresence?

    /// Returns what the outbox must keep.
    /// - Parameters:
    ///   - saved: what it keeps at present.
    ///   - isFirst: whether the sender has not told its phase since the start of the gateway. The collector learns the new
    ///     epoch from the presence.
    ///   - now: the current time.
    /// - Returns: the new record, and whether it must be published; nil if nothing changes.
    func change(
        of saved: OutboxPresence?, isFirst: Bool, at now: Timestamp
    ) -> (record: OutboxPresence, mustPublish: Bool)? {
        if let presence, isFirst || presence.phase != saved?.phase {
            let record = OutboxPresence(
                phase: presence.phase, reason: presence.reason, at: presence.at ?? now, format: format, heardAt: now)
            return (record, true)
        }
        // The clock may have been set back.
        guard var record = saved, abs(now - record.heardAt) >= OutboxPresence.heardInterval else { return nil }
        record.heardAt = now
        return (record, false)
    }
}
