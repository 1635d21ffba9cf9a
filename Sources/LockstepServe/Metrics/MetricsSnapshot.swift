public import LockstepModel
public import LockstepWire

/// What `/metrics` reports about the whole system at one time.
public struct MetricsSnapshot: Sendable {
    /// The last health report of a collector.
    public struct Collector: Sendable {
        /// The group in whose topic the collector publishes.
        public var group: GroupID
        /// The id of the collector.
        public var id: CollectorID
        /// The report.
        public var health: CollectorHealth

        /// Creates a value.
        public init(group: GroupID, id: CollectorID, health: CollectorHealth) {
            self.group = group
            self.id = id
            self.health = health
        }
    }

    /// What is known about one device. A nil is unknown and is left out of the text.
    public struct Device: Sendable {
        /// The address of the device.
        public var address: DeviceAddress
        /// The life-cycle state.
        public var state: LifecycleState?
        /// The time of the last change of the state.
        public var since: Timestamp?
        /// The time of the newest sample, on the device's time line.
        public var lastSample: Timestamp?
        /// The time at which samples have arrived last, on the clock of the server; nil if it is unknown.
        public var arrived: Timestamp?
        /// The measured rates in samples per second, keyed by the name of the stream.
        public var rates: [String: Double]
        /// The number of stored samples.
        public var samples: Int64?
        /// The number of samples that were received again with the same values.
        public var duplicates: Int64?
        /// The number of samples that were received again with different values.
        public var conflicts: Int64?
        /// The number of batches that are missing at present: the device no longer has them.
        public var missingBatches: Int64?
        /// The number of batches that are on their way: the device still has them.
        public var batchesOnTheirWay: Int64?
        /// The number of batches that the agent dropped.
        public var droppedBatches: Int64?
        /// The number of samples that the agent dropped.
        public var droppedSamples: Int64?
        /// The charge of the battery, from 0 to 1.
        public var batteryLevel: Double?
        /// Whether the battery is being charged.
        public var isCharging: Bool?
        /// The device's time minus the time of a collector, in s, by the id of the collector.
        public var clockOffsets: [String: Double] = [:]
        /// The ends of the validity of its certificates.
        public var certificates: CertificateTimes = [:]

        /// Creates a value. Everything but the address is unknown.
        public init(address: DeviceAddress) {
            self.address = address
            rates = [:]
        }
    }

    /// The process that serves the metrics.
    public struct Server: Sendable {
        /// The version of the program.
        public var version: String
        /// Whether there is a connection to the broker.
        public var isBrokerConnected: Bool
        /// Whether the store can be read.
        public var isStoreReadable: Bool
        /// The number of open HTTP connections.
        public var connections: Int
        /// The number of connections that were refused because there were too many, of all clients or of one address.
        public var refusedConnections = 0
        /// The number of requests that were refused because their login was missing or wrong.
        public var refusedLogins = 0
        /// The size of the answers that clients have not taken yet, in bytes.
        public var unsentBytes = 0
        /// The number of open event streams, keyed by their kind: `fleet`, `states`, `live`.
        public var subscribers: [String: Int]
        /// The number of live samples that were not sent because a client read too slowly.
        public var droppedSamples: Int
        /// The number of queries of the store that have ended.
        public var queries: Int
        /// The time that these queries took in total, in seconds.
        public var querySeconds: Double
        /// The number of these queries that failed.
        public var failedQueries: Int
        /// The resources that the process uses, or nil if they are unknown.
        public var usage: ProcessUsage?
        /// The ends of the validity of its certificates.
        public var certificates: CertificateTimes = [:]

        /// Creates a value.
        public init(
            version: String, isBrokerConnected: Bool, isStoreReadable: Bool, connections: Int = 0,
            subscribers: [String: Int] = [:], droppedSamples: Int = 0, queries: Int = 0, querySeconds: Double = 0,
            failedQueries: Int = 0, usage: ProcessUsage? = nil
        ) {
            self.version = version
            self.isBrokerConnected = isBrokerConnected
            self.isStoreReadable = isStoreReadable
            self.connections = connections
            self.subscribers = subscribers
            self.droppedSamples = droppedSamples
            self.queries = queries
            self.querySeconds = querySeconds
            self.failedQueries = failedQueries
            self.usage = usage
        }
    }

    /// The time of the snapshot. Ages are relative to it.
    public var at: Timestamp
    /// The collectors, in any order.
    public var collectors: [Collector]
    /// The last health report of each gateway, by `group/id`.
    public var gateways: [String: GatewayHealth] = [:]
    /// All devices, in any order.
    public var devices: [Device]
    /// The serving process.
    public var server: Server

    /// Creates a snapshot.
    public init(at: Timestamp, collectors: [Collector], devices: [Device], server: Server) {
        self.at = at
        self.collectors = collectors
        self.devices = devices
        self.server = server
    }
}
