import Synchronization

/// Which node of a broker to connect to, for links that use the same broker.
public final class NodeChoice: Sendable {
    private let number = Mutex(0)

    /// Creates a choice that begins with the first node.
    public init() {}

    /// The number of failures after which another node was chosen: the number of the node, modulo the number of nodes.
    var current: Int { number.withLock { $0 } }

    /// Chooses the next node after a failure, unless another link has left the failed one already.
    func leave(_ failed: Int) { number.withLock { if $0 == failed { $0 += 1 } } }
}
