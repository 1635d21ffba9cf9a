public import LockstepModel

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
