/// The limits that bound the memory of a ``LivePicture``.
public struct LiveLimits: Sendable, Hashable {
    /// The maximum number of devices. Messages of further devices are reported as unreadable.
    public var devices: Int
    /// The maximum number of collectors.
    public var collectors: Int
    /// The maximum memory of recent samples of all devices, in bytes. If it is exceeded, the oldest are removed.
    public var recentBytes: Int
    /// The maximum age of recent samples, in µs.
    public var recentAge: Int64
    /// The maximum number of subscriptions of all kinds.
    public var subscribers: Int
    /// The maximum size of the events that wait for one subscriber, in bytes.
    public var queueBytes: Int
    /// The time without progress after which a subscriber is ended, in µs.
    public var stallTimeout: Int64
    /// The number of state changes that a subscriber can catch up on.
    public var stateChanges: Int
    /// The number of events of rules that are kept.
    public var events: Int
    /// The maximum number of requests to agents that wait for a reply.
    public var requests: Int
    /// The maximum time by which a sample may be ahead of the clock, in µs. A collector rejects batches with later samples.
    public var maxFuture: Int64 = 86_400_000_000

    /// The maximum number of recorded sessions. A collector keeps no more.
    public static let sessions = 10_000

    /// The maximum size of the message of an event, in bytes. Larger ones are reported as unreadable.
    public static let eventBytes = 16_000

    /// Creates limits. By default 20,000 devices, 64 MB of samples not older than 30 s, 1,000 subscribers with 1 MB each
    /// that may stand still for 10 s, 10,000 state changes, 1,000 events and 1,000
    /// requests.
    public init(
        devices: Int = 20_000, collectors: Int = 1000, recentBytes: Int = 64_000_000, recentAge: Int64 = 30_000_000,
        subscribers: Int = 1000, queueBytes: Int = 1_000_000, stallTimeout: Int64 = 10_000_000,
        stateChanges: Int = 10_000, events: Int = 1000, requests: Int = 1000
    ) {
        self.devices = devices
        self.collectors = collectors
        self.recentBytes = recentBytes
        self.recentAge = recentAge
        self.subscribers = subscribers
        self.queueBytes = queueBytes
        self.stallTimeout = stallTimeout
        self.stateChanges = stateChanges
        self.events = events
        self.requests = requests
    }
}
