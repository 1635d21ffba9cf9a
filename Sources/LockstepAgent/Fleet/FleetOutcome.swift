public import LockstepMQTT
public import LockstepWire

/// The results of a simulated fleet. They are updated during the run.
public struct FleetOutcome: Sendable {
    /// A number of batches, and of the samples in them.
    public struct Amount: Sendable, Hashable {
        /// The number of batches.
        public var batches = 0
        /// The number of samples.
        public var samples = 0

        /// Creates an amount of zero.
        public init() {}
    }

    /// The plan of the run.
    public internal(set) var plan: FleetPlan
    /// The number of connections.
    public let connections: Int
    /// The duration of live data so far, in µs.
    public internal(set) var elapsed: Int64 = 0
    /// The time of the last acknowledgement of a new batch, in µs since the start.
    public internal(set) var delivered: Int64 = 0
    /// The data that devices have to deliver: the live data so far, and the backlog; after an interruption, without the
    /// backlog that was not sent.
    public internal(set) var accepted = Amount()
    /// The data that was published at least once.
    public internal(set) var sent = Amount()
    /// The number of repeated publications.
    public internal(set) var resent = 0
    /// The number of publications that the broker acknowledged (PUBACK).
    public internal(set) var confirmed = 0
    /// The data that collectors acknowledged after their commit.
    public internal(set) var acknowledged = Amount()
    /// The number of established connections that were lost.
    public internal(set) var disconnections = 0
    /// The time from the completion of a live batch to its acknowledgement, in µs.
    public internal(set) var liveLag = LagHistogram()
    /// The time from the first publication of a backlog batch to its acknowledgement, in µs.
    public internal(set) var backlogLag = LagHistogram()
    /// The time from the completion of a live batch to its publication, in µs. If it is large, this machine is too slow
    /// for the plan.
    public internal(set) var lateness = LagHistogram()
    /// The reports of all collectors.
    public internal(set) var collectors = CollectorWatch()
    /// The heap size of the broker; empty if the broker does not report it.
    public internal(set) var brokerMemory = MemorySeries()
    /// The memory of this process, which simulates all devices.
    public internal(set) var ownMemory = MemorySeries()
    /// The distinct errors that the broker reported.
    public internal(set) var refusals: Set<String> = []
    /// Whether the user ended the run early.
    public internal(set) var wasInterrupted = false

    init(plan: FleetPlan, connections: Int) {
        self.plan = plan
        self.connections = connections
    }

    /// The data that no collector acknowledged.
    public var lost: Amount {
        var lost = Amount()
        lost.batches = accepted.batches - acknowledged.batches
        lost.samples = accepted.samples - acknowledged.samples
        return lost
    }
}

/// The configuration of a simulated fleet.
public struct FleetConfiguration: Sendable {
    /// The devices and their batches.
    public var plan: FleetPlan
    /// The number of connections, from 1 to the number of devices; devices are assigned to them round-robin.
    public var connections: Int
    /// The address of the broker.
    public var broker: BrokerAccess
    /// The topic prefix.
    public var root = TopicRoot.standard
    /// The rate limit for backlog, in bytes per second and device.
    public var backlogRate = 262_144
    /// The time without an acknowledgement after which missing batches count as lost, at the end of the run, in µs.
    public var patience: Int64 = 60_000_000

    /// Creates a configuration with default options.
    public init(plan: FleetPlan, connections: Int, broker: BrokerAddress) {
        self.plan = plan
        self.connections = connections
        self.broker = BrokerAccess(broker)
    }
}

/// An error that prevents a fleet from running.
public struct FleetError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The cause, and what to do.
    public let description: String
    init(_ description: String) { self.description = description }
}
