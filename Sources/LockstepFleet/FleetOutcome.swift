/// What a fleet has done so far, and at its end all of it.
public struct FleetOutcome: Sendable {
    public struct Amount: Sendable, Hashable {
        public var batches = 0
        public var samples = 0

        public init() {}
    }

    public internal(set) var plan: FleetPlan
    public let connections: Int
    /// µs of live data so far.
    public internal(set) var elapsed: Int64 = 0
    /// µs from the begin to the last acknowledgement that brought something.
    public internal(set) var delivered: Int64 = 0
    /// What devices had to deliver: live data that was due, and backlog.
    public internal(set) var accepted = Amount()
    /// Published at least once.
    public internal(set) var sent = Amount()
    /// Publications of batches that had been published before.
    public internal(set) var resent = 0
    /// Publications that the broker confirmed (PUBACK).
    public internal(set) var confirmed = 0
    /// What collectors acknowledged, after their commit.
    public internal(set) var acknowledged = Amount()
    /// Connections that were up and ended by themselves.
    public internal(set) var disconnections = 0
    /// From when a live batch was due to its acknowledgement, in µs.
    public internal(set) var liveLag = LagHistogram()
    /// From the first publication of a batch of the backlog to its acknowledgement, in µs.
    public internal(set) var backlogLag = LagHistogram()
    /// By how much live batches left late, in µs: where that is much, this machine is too slow for the plan.
    public internal(set) var lateness = LagHistogram()
    public internal(set) var collectors = CollectorWatch()
    /// The broker's heap; empty where it does not tell.
    public internal(set) var brokerMemory = MemorySeries()
    /// This process: all devices.
    public internal(set) var ownMemory = MemorySeries()
    /// What brokers refused, each reason once.
    public internal(set) var refusals: Set<String> = []
    public internal(set) var wasInterrupted = false

    init(plan: FleetPlan, connections: Int) {
        self.plan = plan
        self.connections = connections
    }

    /// What no collector ever acknowledged.
    public var lost: Amount {
        var lost = Amount()
        lost.batches = accepted.batches - acknowledged.batches
        lost.samples = accepted.samples - acknowledged.samples
        return lost
    }
}
