/// What a device's app is doing, as a phone platform would say it of its apps.
public enum LifecycleState: String, Sendable, Codable, CaseIterable {
    /// Runs and sends.
    case active
    /// Interrupted: its sensors pause, the device is reachable.
    case inactive
    /// Runs at background rates, or has gone silent, or has lost its connection.
    case background
    /// Came back from background or after its end, and has not yet settled.
    case resumed
    /// Ended cleanly.
    case terminated
}

/// What an agent says of itself.
public enum Phase: String, Sendable, Codable, CaseIterable {
    case foreground, inactive, background, terminated
    /// Said by the broker, as the agent's last will.
    case lost
}

/// One change of a device's life-cycle state.
public struct LifecycleTransition: Hashable, Sendable {
    public let from: LifecycleState?
    public let to: LifecycleState
    /// When, on the collector's clock unless the device's own word is at hand.
    public let since: Timestamp
    /// Why: `foreground`, `inactive`, `background`, `terminated`, `live-sample`, `connection-lost`, `silent`, `settled`,
    /// or the reason that the agent gave.
    public let reason: String
    /// Number of the transition of this device, from 1.
    public let seq: Int64

    public init(from: LifecycleState?, to: LifecycleState, since: Timestamp, reason: String, seq: Int64) {
        self.from = from
        self.to = to
        self.since = since
        self.reason = reason
        self.seq = seq
    }
}

/// An agent's word about itself, retained on its `presence` topic.
public struct Presence: Hashable, Sendable {
    public var epoch: Epoch?
    /// The epoch that ended when `epoch` began: tells which is the later where the clock was set back in between.
    public var after: Epoch?
    /// Start of the connection that says so, in µs since 1970: a later session has a higher number.
    public var session: Int64?
    public var phase: Phase
    /// When it was said, on the device's time line; nil where a device that is not ours does not tell. A last will
    /// carries the time of its connection.
    public var at: Timestamp?
    public var reason: String?
    /// Batches of `epoch` that the agent's outbox had to drop: they will never come.
    public var dropped: [ClosedRange<Int64>]
    /// Samples that the agent had to drop, in all.
    public var droppedSamples: Int64
    /// What each source has to say, by its name: `running`, `no fix`, `stale: …`.
    public var sources: [String: String]

    public init(
        epoch: Epoch?, after: Epoch? = nil, session: Int64?, phase: Phase, at: Timestamp?, reason: String? = nil,
        dropped: [ClosedRange<Int64>] = [], droppedSamples: Int64 = 0, sources: [String: String] = [:]
    ) {
        self.epoch = epoch
        self.after = after
        self.session = session
        self.phase = phase
        self.at = at
        self.reason = reason
        self.dropped = dropped
        self.droppedSamples = droppedSamples
        self.sources = sources
    }
}
