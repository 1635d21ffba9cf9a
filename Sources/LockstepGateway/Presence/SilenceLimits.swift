public import LockstepModel

/// The times after which a sender that sends nothing counts as lost. Each format has its own.
///
/// A sender that vanishes sends no farewell, and its format has no last will that a gateway sees. Its silence is the only
/// evidence.
public struct SilenceLimits: Sendable, Hashable {
    /// The limit in the phases `foreground` and `inactive`, in µs; nil if silence shows nothing.
    public var foreground: Int64?
    /// The limit in the phase `background`, in µs; nil if silence shows nothing.
    public var background: Int64?
    /// The limit for a sender that has sent nothing since the gateway started, in µs from the start; nil for none.
    public var sinceStart: Int64?

    /// The time for which a gateway must have listened before it decides, in µs: senders repeat after a failure, and the
    /// broker sends what it kept.
    static let maxGrace: Int64 = 120_000_000

    /// Creates limits, in µs.
    public init(foreground: Int64? = nil, background: Int64? = nil, sinceStart: Int64? = nil) {
        self.foreground = foreground
        self.background = background
        self.sinceStart = sinceStart
    }

    /// Creates one limit for all phases, in µs.
    public init(all limit: Int64) { self.init(foreground: limit, background: limit) }

    /// Returns the limits of the formats of adapters, and of those that have none because they keep connections of their
    /// own.
    public static func standard(_ adapters: [any GatewayAdapter]) -> [String: SilenceLimits] {
        var limits = [
            PhyphoxPhone.formatName: PhyphoxPhone.silence, SparkplugNodes.formatName: SparkplugNodes.silence,
        ]
        for adapter in adapters { limits[adapter.name] = adapter.silence }
        return limits
    }

    /// Returns whether a sender counts as lost. All times are in µs of one clock.
    /// - Parameters:
    ///   - phase: the last phase of the sender.
    ///   - lastMessage: the time of its last message. It may be before the start of the gateway.
    ///   - start: the time at which the gateway started.
    ///   - listening: the time since which the gateway has been able to receive messages.
    ///   - now: the current time.
    public func isExceeded(
        in phase: Phase, lastMessage: Int64, start: Int64, listening: Int64, at now: Int64
    ) -> Bool {
        let limit: Int64? =
            switch phase {
            case .foreground, .inactive: foreground
            case .background: background
            case .terminated, .lost: nil
            }
        if let limit, now >= max(lastMessage + limit, listening + min(limit, Self.maxGrace)) { return true }
        guard let sinceStart, phase != .terminated, phase != .lost, lastMessage < start else { return false }
        return now >= listening + sinceStart
    }
}

/// The messages that senders sent to earlier runs of the gateway.
enum EarlierMessages {
    /// Returns the times from which the silence of senders is counted when the gateway starts, in µs of the boot clock.
    ///
    /// The time in which the gateway did not run is left out, because nobody could be heard. It begins with the last message
    /// of any sender. All results are before the start, whatever the wall clock showed when the times were saved.
    /// - Parameters:
    ///   - saved: the time of the last message of each sender; nil if it is unknown.
    ///   - wall: the time of the start.
    ///   - boot: the time of the start, in µs of the boot clock.
    static func times(_ saved: [Timestamp?], startingAt wall: Timestamp, boot: Int64) -> [Int64] {
        // A time in the future is from before the clock was set back. It says nothing about the others.
        let last = saved.compactMap { $0 }.filter { $0 <= wall }.max()
        return saved.map { time in
            guard let time, let last else { return boot - 1 }
            return boot - 1 - max(0, last - time)
        }
    }
}

/// The time in which a gateway can hear senders, in µs: that of the boot clock without the breaks in which the gateway did
/// not run. The boot clock also runs while the machine is suspended.
struct ListeningTime {
    /// The interval between two checks above which there was a break: the gateway was stopped, the machine was suspended,
    /// or a write to the disk took long. Messages of that time may be lost, or may not be read yet.
    static let maxGap: Int64 = 10_000_000

    /// The time since which senders could be heard without a break.
    private(set) var since: Int64 = 0
    private var breaks: Int64 = 0
    private var checkedAt: Int64?

    func time(at boot: Int64) -> Int64 { boot - breaks }

    /// Gives senders time to come back, after a connection or when their messages could not be kept.
    mutating func begin(at boot: Int64) { since = time(at: boot) }

    /// Notices a break since the previous check.
    mutating func check(at boot: Int64) {
        if let checkedAt, boot - checkedAt > Self.maxGap {
            breaks += boot - checkedAt
            begin(at: boot)
        }
        checkedAt = boot
    }
}

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
