public import LockstepModel

/// The configuration of a ``ClusterCollector``.
public struct ClusterConfiguration: Sendable {
    /// The name of the cluster. Its collectors divide the shares among themselves.
    public var cluster: String
    /// The shares of the cluster. All its collectors have the same.
    public var shares: [CollectorShare]
    /// The configuration of the collector; its groups are ignored.
    public var collector: CollectorConfiguration

    /// The maximum length of the id of a collector: the collector of a partition has the id `ID.PARTITION`.
    public static let maxIDLength = 58

    /// The keep-alive interval of the connections that show that a collector runs, in s. The broker publishes the last
    /// will of a collector that hangs after 1.5 times this time.
    static let keepAlive = 8

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
        // The session belongs to the share, so that the next owner receives what this one leaves.
        configuration.clientID = clientID("share", share.description)
        if share.partitions > 1 {
            configuration.id = CollectorID(unchecked: "\(collector.id).\(share.partition)")
        }
        // Each device's request is answered once.
        configuration.answersClock = collector.answersClock && share.partition == 0
        configuration.clockClientID = clientID("clock", share.description)
        return configuration
    }

    /// Returns an MQTT client id of this cluster: `lockstep-KIND/ROOT/CLUSTER/NAME`. The broker closes a connection when
    /// another has the same id, so the ids of different roots, clusters and names must differ. A cluster and a name
    /// contain no slash.
    func clientID(_ kind: String, _ name: String) -> String { "lockstep-\(kind)/\(collector.root)/\(cluster)/\(name)" }
}
