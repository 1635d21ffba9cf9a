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
    /// The NATS servers that keep the leases, whatever the broker is.
    public var leaseServer: NATSOptions

    static let leaseBucket = "lockstep-leases"

    /// The maximum length of the id of a collector: the collector of a partition has the id `ID-PARTITION`.
    public static let maxIDLength = 58

    /// The keep-alive interval of the connections that show that a collector runs, in s. The broker publishes the last
    /// will of a collector that hangs after 1.5 times this time.
    static let keepAlive = 8

    /// The time in s after which a connection to the broker is lost if the broker's host acknowledges nothing.
    static let peerTimeout = 12

    /// Creates a configuration.
    public init(
        cluster: GroupID, shares: [CollectorShare], collector: CollectorConfiguration, leaseServer: NATSOptions
    ) {
        self.cluster = cluster.rawValue
        self.shares = shares
        self.collector = collector
        self.leaseServer = leaseServer
    }

    func configuration(of share: CollectorShare) -> CollectorConfiguration {
        var configuration = collector
        configuration.groups = [share.group]
        // The session belongs to the share, so that the next owner receives what this one leaves.
        configuration.share = CollectorConfiguration.Share(
            devices: share, clientID: clientID("share", of: share), clockClientID: clientID("clock", of: share),
            peerTimeout: Self.peerTimeout)
        if share.partitions > 1 {
            // NATS servers before 2.10 refuse topics with a dot.
            configuration.id = CollectorID(unchecked: "\(collector.id)-\(share.partition)")
        }
        // Each device's request is answered once.
        configuration.answersClock = collector.answersClock && share.partition == 0
        return configuration
    }

    // MARK: Leases

    /// Returns the key of a share's ``LeaseRecord`` in the bucket. A cluster and a share contain no slash.
    func leaseKey(of share: CollectorShare) -> String { keyValueKey("\(collector.root)/\(cluster)/\(share)") }

    /// Returns the bucket of the leases, not connected yet.
    func openLeases() -> KeyValueBucket { KeyValueBucket(Self.leaseBucket, leaseServer) }

    /// Reads a lease, and writes a key that only this collector uses, to find wrong addresses, files and rights at the start.
    /// - Throws: ``NATSError`` if no lease server answers, or it refuses.
    public func checkLeaseServer() throws(NATSError) {
        guard let share = shares.first else { return }
        let leases = openLeases()
        _ = try leases.value(of: leaseKey(of: share))
        // A share contains no dollar sign.
        try leases.checkWrite(to: keyValueKey("\(collector.root)/\(cluster)/$probe/\(collector.id)"))
    }

    // MARK: Members

    /// The topic with which a collector shows that it runs: retained, renewed, and empty after its end. It is next to the
    /// topic root, so that no other reader receives it.
    func memberTopic(_ id: String) -> String { "\(collector.root)-collectors/\(cluster)/member/\(id)" }

    /// Returns the collector of a topic, or nil if it is not one of a member.
    func member(of topic: String) -> CollectorID? {
        let prefix = memberTopic("")
        return topic.hasPrefix(prefix) ? CollectorID(rawValue: String(topic.dropFirst(prefix.count))) : nil
    }

    /// The MQTT client id of the connection that shows that the collector runs.
    var memberClientID: String {
        MQTTOptions.clientID("member", collector.root.description, cluster, collector.id.rawValue)
    }

    /// Returns an MQTT client id of a share. The broker closes a connection when another has the same id, so the ids of
    /// different roots, clusters and shares differ.
    private func clientID(_ kind: String, of share: CollectorShare) -> String {
        MQTTOptions.clientID(kind, collector.root.description, cluster, share.description)
    }
}
