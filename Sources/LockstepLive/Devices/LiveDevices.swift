public import LockstepModel
public import LockstepWire

/// The live picture of all devices: it receives messages and returns changes.
public struct LiveDevices: Sendable {
    /// What is kept of the messages.
    public struct Options: Sendable {
        /// The time over which rates are measured, in µs.
        public var rateWindow: Int64 = 10_000_000
        /// Whether a message for a device, such as a request, adds the device. Otherwise only a state, a presence
        /// message or samples do.
        public var addsAddressedDevices = false
        /// Returns whether to follow a device.
        public var selects: @Sendable (DeviceAddress) -> Bool = { _ in true }

        /// Creates the options of a program that follows all devices.
        public init() {}
    }

    /// All devices, in order of appearance, including those that are forgotten. A device keeps its position.
    var entries: [LiveDevice] = []
    /// The devices, in order of appearance.
    public var devices: [LiveDevice] { entries.filter { !$0.isForgotten } }
    /// The last health report of each collector.
    public internal(set) var collectors: [CollectorAddress: CollectorHealth] = [:]

    /// The last health report of each gateway, by `group/id`.
    public internal(set) var gateways: [String: GatewayHealth] = [:]
    /// The states of recorded sessions, each with its newest markers.
    public internal(set) var sessions: [RecordingSession.Key: RecordingSession] = [:]

    /// The topic prefix and the streams, which may be replaced: routes of unknown streams are not kept.
    var root: TopicRoot
    let limits: LiveLimits
    let options: Options
    var positions: [DeviceAddress: Int] = [:]
    var routes: [String: Route] = [:]
    var recent: RecentSamples
    /// The number of the last change.
    var revision: UInt64 = 0

    /// Creates a picture without devices.
    /// - Parameter root: the topic prefix; its `streams` are the streams that are known.
    public init(root: TopicRoot, limits: LiveLimits = LiveLimits(), options: Options = Options()) {
        self.root = root
        self.limits = limits
        self.options = options
        recent = RecentSamples(maxBytes: limits.recentBytes, maxAge: limits.recentAge)
    }

    /// Returns a device, or nil if it is unknown.
    public subscript(address: DeviceAddress) -> LiveDevice? {
        guard let index = positions[address], !entries[index].isForgotten else { return nil }
        return entries[index]
    }

    /// Returns the rate of live samples of a stream over the last seconds, in samples per second.
    /// - Parameter boot: the current time, in µs of the boot clock.
    public func rate(of stream: LiveStream, of device: LiveDevice, at boot: Int64) -> Double {
        stream.arrivals.rate(since: device.firstArrivalAt, at: boot, window: options.rateWindow)
    }

    /// Marks devices as changed whose samples have stopped, so that their rates have decreased since.
    mutating func touchFadingRates(at boot: Int64) {
        for index in entries.indices {
            guard let last = entries[index].lastArrivalAt else { continue }
            touch(index)
            if boot - last > options.rateWindow { entries[index].lastArrivalAt = nil }
        }
    }

    /// Handles a new connection: resets rates, because messages were missed while the connection was down.
    public mutating func didConnect() {
        // The broker sends them again. Those that were deleted meanwhile are not missed.
        sessions = [:]
        for device in entries.indices {
            for stream in entries[device].streams.indices { entries[device].streams[stream].arrivals.reset() }
            entries[device].backlog.reset()
            entries[device].firstArrivalAt = nil
            touch(device)
        }
    }
}

/// The address of a collector.
public struct CollectorAddress: Hashable, Comparable, Sendable {
    /// The group.
    public let group: GroupID
    /// The collector within the group.
    public let collector: CollectorID

    /// Creates an address.
    public init(group: GroupID, collector: CollectorID) {
        self.group = group
        self.collector = collector
    }

    /// Returns whether `left` precedes `right` in the order of group, then collector.
    public static func < (left: CollectorAddress, right: CollectorAddress) -> Bool {
        (left.group, left.collector) < (right.group, right.collector)
    }
}

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

/// The effect of a message on ``LiveDevices``.
public enum LiveChange: Sendable {
    /// A device changed its life-cycle state.
    case state(DeviceAddress, LifecycleTransition)
    /// An agent reported its status. `isNews` is false for a heartbeat without a change.
    case presence(DeviceAddress, Presence, isNews: Bool)
    /// The state and the presence of a device were deleted, so it is no longer shown until it sends again.
    case forgotten(DeviceAddress)
    /// The health report of a collector was deleted.
    case collectorForgotten(GroupID, CollectorID)
    /// Samples arrived.
    case samples(LiveBatch)
    /// A collector reported its health. `isNews` is false if status and problem are unchanged.
    case collector(GroupID, CollectorID, CollectorHealth, isNews: Bool)
    /// An agent replied to a request. The payload is that of the message.
    case reply(DeviceAddress)
    /// A rule has notified an event.
    case event(StoredEvent)
    /// A collector has stored the acknowledgement of an event.
    case acknowledged(StoredAcknowledgement)
    /// A session has another state, or was deleted.
    case session(RecordingSession.Key)
    /// The message cannot be decoded, or exceeds a limit.
    case unreadable(topic: String, reason: String)
}

/// A batch that has arrived.
public struct LiveBatch: Sendable {
    /// The device.
    public let address: DeviceAddress
    /// The batch.
    public let batch: Batch
    /// The position of the stream in ``LiveDevices``.
    let key: StreamKey
}

/// The position of a stream of a device in ``LiveDevices``.
struct StreamKey: Hashable, Sendable {
    let device: Int
    let stream: Int
}
