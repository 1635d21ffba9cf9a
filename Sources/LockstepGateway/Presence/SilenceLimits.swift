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
