public import LockstepModel

/// What is known about one device.
public struct LiveDevice: Sendable {
    /// The address.
    public let address: DeviceAddress
    /// The last life-cycle transition, or nil if none is known.
    public internal(set) var transition: LifecycleTransition?
    /// The last presence message, or nil if there is none.
    public internal(set) var presence: Presence?
    /// The last report of the device's clock in this session, or nil if there is none.
    public internal(set) var clock: ClockReport?
    /// The time of the newest sample, on the device's time line; nil if none is known.
    public internal(set) var newest: Timestamp?
    /// The time at which samples have arrived last, on the clock of this machine; nil if none have since the start.
    public internal(set) var arrived: Timestamp?
    /// The last report of the battery, or nil if there is none.
    public internal(set) var battery: LiveBattery?
    /// The last fix with a position, or nil if there is none.
    public internal(set) var position: LivePosition?
    /// The counters of the store when it was last read; nil if the store has not been read, or does not know the device.
    public internal(set) var counters: StoredCounters?
    /// The number of samples received since the counters were read.
    public internal(set) var received: Int64 = 0
    /// The streams of which samples have arrived or are stored, in order of appearance.
    public internal(set) var streams: [LiveStream] = []

    /// Whether state and presence were deleted, and nothing has arrived since. Such a device is not shown.
    var isForgotten = false
    /// The number of the change of all devices that changed this device last.
    var revision: UInt64 = 0
    /// The recent arrivals of backlog, for all streams.
    var backlog = RecentArrivals()
    /// The time of the first samples on this connection, in µs of the boot clock.
    var firstArrivalAt: Int64?
    /// The time of the last live samples, in µs of the boot clock; nil once their rate is 0.
    var lastArrivalAt: Int64?

    init(_ address: DeviceAddress) { self.address = address }

    /// Returns the stream's live data, or nil if nothing is known about it.
    public subscript(stream: SensorStream) -> LiveStream? { streams.first { $0.stream.name == stream.name } }

    /// The number of samples that the agent dropped, or that the store counts as dropped.
    public var droppedSamples: Int64 { max(presence?.droppedSamples ?? 0, counters?.droppedSamples ?? 0) }

    /// The number of batches that the agent dropped, or that the store counts as dropped.
    public var droppedBatches: Int64 {
        // An agent lists each batch once, but any client may send a list that would overflow the sum.
        let reported = (presence?.dropped ?? []).reduce(into: Int64(0)) { sum, range in
            sum = min(1 << 53, sum + (range.upperBound - range.lowerBound + 1))
        }
        return max(reported, counters?.droppedBatches ?? 0)
    }

    /// The streams: first the built-in streams in the order of their definition, then other streams by name.
    public var sortedStreams: [LiveStream] { streams.sorted { ($0.rank, $0.stream.name) < ($1.rank, $1.stream.name) } }

    /// The streams of which live samples have arrived, in the order of ``sortedStreams``.
    package var arrivedStreams: [SensorStream] { sortedStreams.filter(\.hasArrived).map(\.stream) }

    /// Returns the rate of the live samples of a stream in the last `window` µs, in samples per second.
    package func rate(of stream: SensorStream, at boot: Int64, window: Int64) -> Double {
        self[stream]?.arrivals.rate(since: firstArrivalAt, at: boot, window: window) ?? 0
    }

    /// Returns the number of late samples of all streams in the last `window` µs per second.
    package func backlogRate(at boot: Int64, window: Int64) -> Double {
        backlog.average(since: firstArrivalAt, at: boot, window: window)
    }

    /// Returns the index of a stream, which is added if it is new.
    mutating func index(of stream: SensorStream) -> Int {
        if let known = streams.firstIndex(where: { $0.stream.name == stream.name }) { return known }
        streams.append(LiveStream(stream))
        return streams.count - 1
    }
}

/// What is known about one stream of a device.
public struct LiveStream: Sendable {
    /// The stream.
    public let stream: SensorStream
    /// The time of the newest sample, or nil if no live samples have arrived.
    public internal(set) var newestTime: Timestamp?
    /// The values of the newest sample, in the order of the stream's columns; empty if there is none.
    public internal(set) var newestValues: [Double] = []
    /// The recent live batches, from the oldest.
    var recent = RingQueue<SampleBlock>()
    var arrivals = RecentArrivals()
    /// Whether live samples have arrived since the program started.
    var hasArrived = false

    /// The position of the stream in lists.
    let rank: Int

    init(_ stream: SensorStream) {
        self.stream = stream
        rank = stream.rank
    }
}

/// The report of a device's battery.
public struct LiveBattery: Sendable, Hashable {
    /// The charge, from 0 to 1; nil if unknown.
    public var level: Double?
    /// Whether the battery is being charged; nil if unknown.
    public var isCharging: Bool?
    /// The time of the report.
    public var at: Timestamp
}

/// A position fix. Unknown values are nil.
public struct LivePosition: Sendable, Hashable {
    /// The latitude in °, north positive.
    public var latitude: Double
    /// The longitude in °, east positive.
    public var longitude: Double
    /// The horizontal accuracy in m.
    public var accuracy: Double?
    /// The altitude above mean sea level in m.
    public var altitude: Double?
    /// The speed over ground in m/s.
    public var speed: Double?
    /// The course in °, clockwise from north.
    public var course: Double?
    /// The time of the sample.
    public var at: Timestamp
}

/// The counters of a device in a store.
public struct StoredCounters: Sendable, Hashable {
    /// The number of stored samples.
    public var samples: Int64
    /// The number of samples that arrived again.
    public var duplicates: Int64
    /// The number of samples that contradict a stored one.
    public var conflicts: Int64
    /// The number of batches that are missing: the device no longer has them.
    public var missing: Int64
    /// The number of batches that are on their way: the device still has them.
    public var onItsWay: Int64
    /// The number of batches that the agent dropped.
    public var droppedBatches: Int64
    /// The number of samples that the agent dropped.
    public var droppedSamples: Int64

    /// Creates counters.
    public init(
        samples: Int64 = 0, duplicates: Int64 = 0, conflicts: Int64 = 0, missing: Int64 = 0, onItsWay: Int64 = 0,
        droppedBatches: Int64 = 0, droppedSamples: Int64 = 0
    ) {
        self.samples = samples
        self.duplicates = duplicates
        self.conflicts = conflicts
        self.missing = missing
        self.onItsWay = onItsWay
        self.droppedBatches = droppedBatches
        self.droppedSamples = droppedSamples
    }
}

/// What a store knows about a device.
public struct DeviceSeed: Sendable {
    /// The device.
    public var address: DeviceAddress
    /// The last life-cycle transition. It is used only if the broker has sent none.
    public var transition: LifecycleTransition?
    /// The counters.
    public var counters: StoredCounters
    /// The newest sample of each stored stream. The block may be empty, if only the existence of the stream is known.
    public var newest: [SampleBlock]
    /// The time of the newest sample of all streams.
    public var lastSample: Timestamp?
    /// The last fix with a position, as a block of the stream `location` with one sample.
    public var lastFix: SampleBlock?
    /// Whether the device is forgotten, so that it is not shown until it sends again.
    public var isForgotten = false

    /// Creates a seed.
    public init(
        address: DeviceAddress, transition: LifecycleTransition? = nil, counters: StoredCounters = StoredCounters(),
        newest: [SampleBlock] = [], lastSample: Timestamp? = nil, lastFix: SampleBlock? = nil
    ) {
        self.address = address
        self.transition = transition
        self.counters = counters
        self.newest = newest
        self.lastSample = lastSample
        self.lastFix = lastFix
    }
}

extension SensorStream {
    /// Returns whether this stream is listed before another one: first the built-in streams in the order of their
    /// definition, then other streams by name.
    package func precedes(_ other: SensorStream) -> Bool { (rank, name) < (other.rank, other.name) }

    /// The position among the built-in streams, which is the same for all other streams.
    var rank: Int { SensorStream.builtIn.firstIndex(of: self) ?? SensorStream.builtIn.count }
}
