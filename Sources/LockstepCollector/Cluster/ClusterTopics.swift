import LockstepModel
import LockstepWire

/// The topics of a cluster of collectors. They are next to the topic root, so that no other reader receives them.
struct ClusterTopics {
    private let prefix: String

    init(root: TopicRoot, cluster: String) { prefix = "\(root)-collectors/\(cluster)" }

    /// What a member reads of the leases, if the broker keeps them.
    var leaseFilters: [String] { ["lease", "lost"].map { "\(prefix)/\($0)/+" } }
    /// What a member reads of the other members.
    var memberFilter: String { "\(prefix)/member/+" }

    /// The topic with which a collector shows that it runs: retained, renewed, and empty after its end.
    func member(_ id: CollectorID) -> String { "\(prefix)/member/\(id)" }
    /// The topic of a share's ``LeaseRecord``: retained, and renewed by the owner.
    func lease(_ share: CollectorShare) -> String { "\(prefix)/lease/\(share)" }
    /// The topic of the last will of an owner's connection.
    func lost(_ share: CollectorShare) -> String { "\(prefix)/lost/\(share)" }

    /// The topic of the probes of claims, see ``LeaseClaim``.
    func probe(_ share: CollectorShare) -> String { "\(prefix)/probe/\(share)" }

    /// Returns the kind and the last level of a topic.
    func parse(_ topic: String) -> (kind: Substring, name: Substring)? {
        guard topic.hasPrefix(prefix + "/") else { return nil }
        let levels = topic.dropFirst(prefix.count + 1).split(separator: "/")
        return levels.count == 2 ? (levels[0], levels[1]) : nil
    }
}
