import LockstepClickHouse
import LockstepCollector
import LockstepCommandLine
import LockstepMQTT
import LockstepModel

extension CollectorCommand {
    /// Returns the cluster and its shares, or nil if the collector is not part of a cluster.
    func clusterShares(_ settings: Settings) throws -> (cluster: GroupID, shares: [CollectorShare])? {
        guard let cluster = try settings.value(options.cluster) else { return nil }
        if case .sqlite? = try settings.value(options.store) {
            throw CommandFailure(
                "an SQLite store belongs to one collector: use a ClickHouse store, or leave out --cluster")
        }
        let shares = try settings.values(options.group) { try CollectorShare.shares($0) }.flatMap { $0 }
        guard !shares.isEmpty else {
            throw CommandFailure("--cluster needs the groups that its collectors divide: use --group for each of them")
        }
        guard Set(shares.map(\.group)).count == Set(shares.map { "\($0.group) \($0.partitions)" }).count,
            Set(shares).count == shares.count
        else { throw CommandFailure("a group is named twice: use --group once for each group") }
        return (cluster, shares)
    }

    /// Returns the NATS servers that keep the leases of a cluster.
    func leaseServer(_ settings: Settings, of collector: CollectorConfiguration) throws -> NATSOptions {
        guard let servers = try settings.value(options.leaseServer) else {
            throw CommandFailure(
                "--cluster needs a NATS server that keeps the leases, whatever the broker is: start one with 'nats-server "
                    + "--jetstream --store_dir DIR' and add --lease-server nats://HOST:4222, see docs/cluster.md")
        }
        var options = NATSOptions(servers: servers, name: "lockstep-collector \(collector.id)")
        options.user = collector.broker.user
        options.password = collector.broker.password
        guard servers.usesTLS else {
            // Otherwise the password would be sent without encryption, though the user has asked for it.
            guard !collector.broker.usesTLS else {
                throw CommandFailure("the broker uses TLS, but --lease-server does not: use tls:// instead of nats://")
            }
            return options
        }
        options.authorityFile = collector.tls.authorityFile
        options.certificateFile = collector.tls.certificateFile
        options.keyFile = collector.tls.keyFile
        return options
    }
}
