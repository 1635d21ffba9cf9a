import LockstepMQTT
public import LockstepModel
import LockstepWire

/// The configuration of a ``ClusterCollector``.
public struct ClusterConfiguration: Sendable {
    /// The name of the cluster. Its collectors divide the shares among themselves.
    public var cluster: String
    /// The shares of the cluster. All its collectors have the same.
    public var shares: [CollectorShare]
    /// The configuration of the collector; its groups are ignored.
    public var collector: CollectorConfiguration
    /// The NATS cluster that keeps the leases; nil if the broker keeps them, which must then be a single one.
    public var leaseServer: NATSOptions?

    /// The name of the key-value bucket of all leases.
    static let leaseBucket = "lockstep-leases"

    /// The maximum length of the id of a collector: the collector of a partition has the id `ID.PARTITION`, or
    /// `ID-PARTITION` on NATS servers, because those before 2.10 refuse topics with a dot.
    public static let maxIDLength = 58

    /// The keep-alive interval of the connections that show that a collector runs, in s. The broker publishes the last
    /// will of a collector that hangs after 1.5 times this time.
    static let keepAlive = 8

    /// The time in s after which a connection to the broker is lost if the broker's host acknowledges nothing.
    static let peerTimeout = 12

    /// Creates a configuration.
    public init(cluster: GroupID, shares: [CollectorShare], collector: CollectorConfiguration) {
        self.cluster = cluster.rawValue
        self.shares = shares
        self.collector = collector
    }

    /// Returns the configuration of the collector of one share.
    func configuration(of share: CollectorShare) -> CollectorConfiguration {
        var configuration = collector
        configuration.groups = [share.group]
        configuration.share = share
        configuration.mqttVersion = mqttVersion
        configuration.peerTimeout = Self.peerTimeout
        // The session belongs to the share, so that the next owner receives what this one leaves.
        configuration.clientID = clientID("share", of: share)
        if share.partitions > 1 {
            configuration.id = CollectorID(
                unchecked: "\(collector.id)\(leaseServer == nil ? "." : "-")\(share.partition)")
        }
        // Each device's request is answered once.
        configuration.answersClock = collector.answersClock && share.partition == 0
        configuration.clockClientID = clientID("clock", of: share)
        return configuration
    }

    /// The MQTT version to use, or nil for automatic selection. NATS servers know only 3.1.1.
    var mqttVersion: MQTTVersion? { collector.mqttVersion ?? (leaseServer == nil ? nil : .three) }

    /// How long leases last.
    var leaseTiming: LeaseTiming { leaseServer == nil ? .broker : .keyValue }

    /// Returns the key of a share's ``LeaseRecord`` in the bucket. A cluster and a share contain no slash.
    func leaseKey(of share: CollectorShare) -> String { keyValueKey("\(collector.root)/\(cluster)/\(share)") }

    /// Reads a lease, and writes a key that only this collector uses, to find wrong addresses, files and rights at the start.
    /// - Throws: ``NATSError`` if no lease server answers, or it refuses. Nothing is done without lease servers.
    public func checkLeaseServer() throws(NATSError) {
        guard let leaseServer, let share = shares.first else { return }
        let bucket = KeyValueBucket(Self.leaseBucket, leaseServer)
        _ = try bucket.value(of: leaseKey(of: share))
        // A share contains no dollar sign.
        try bucket.checkWrite(to: keyValueKey("\(collector.root)/\(cluster)/$probe/\(collector.id)"))
    }

    /// The MQTT client id of the connection that shows that the collector runs.
    var memberClientID: String {
        MQTTOptions.clientID("member", collector.root.description, cluster, collector.id.rawValue)
    }

    /// Returns an MQTT client id of a share. The broker closes a connection when another has the same id, so the ids of
    /// different roots, clusters and shares differ.
    func clientID(_ kind: String, of share: CollectorShare) -> String {
        MQTTOptions.clientID(kind, collector.root.description, cluster, share.description)
    }
}
