public import LockstepMQTT

/// The reason why a collector cannot be a member of a cluster.
public enum ClusterError: Error, CustomStringConvertible {
    /// The broker is a NATS server, whose retained messages cannot keep leases.
    case leasesNeedNATS(BrokerAddress)

    /// The reason, and what to do.
    public var description: String {
        switch self {
        case .leasesNeedNATS(let broker):
            "the broker \(broker) is a NATS server, whose retained messages cannot keep the leases of a cluster: add "
                + "--lease-server nats://HOST:4222 with the addresses of the NATS servers"
        }
    }
}
