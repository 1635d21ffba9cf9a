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
