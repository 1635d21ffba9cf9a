public import LockstepModel
import LockstepRules
import Synchronization

/// A part of the devices that one collector of a cluster owns at a time: a group, or a partition of a group.
public struct CollectorShare: Hashable, Sendable, CustomStringConvertible {
    /// The group.
    public let group: GroupID
    /// The index of the partition, from 0.
    public let partition: Int
    /// The number of partitions of the group; 1 if the group is not divided.
    public let partitions: Int

    /// The maximum number of partitions of a group.
    public static let maxPartitions = 64

    init(group: GroupID, partition: Int = 0, partitions: Int = 1) {
        self.group = group
        self.partition = partition
        self.partitions = partitions
    }

    /// Returns the shares of `text`: `GROUP`, or `GROUP:COUNT` for a group that is divided into partitions.
    /// - Throws: ``ShareError`` or `IdentifierError`.
    public static func shares(_ text: String) throws -> [CollectorShare] {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let group = try GroupID(validating: String(parts[0]))
        guard parts.count > 1 else { return [CollectorShare(group: group)] }
        guard parts.count == 2, let count = Int(parts[1]), (1...maxPartitions).contains(count) else {
            throw ShareError(text: text)
        }
        return (0..<count).map { CollectorShare(group: group, partition: $0, partitions: count) }
    }

    /// The name in topics, client ids and logs: `lab`, or `lab:0-4` for the first of four partitions.
    public var description: String { partitions == 1 ? "\(group)" : "\(group):\(partition)-\(partitions)" }

    func contains(_ device: DeviceAddress) -> Bool {
        guard device.group == group else { return false }
        guard partitions > 1 else { return true }
        var hash = StableHash()
        hash.combine(device.device.rawValue)
        return hash.value % UInt64(partitions) == UInt64(partition)
    }
}

/// The error thrown for a text that does not name a group and its number of partitions.
public struct ShareError: Error, Hashable, CustomStringConvertible {
    let text: String
    /// The text with the valid forms.
    public var description: String {
        "'\(text)' is not a share: use GROUP, or GROUP:COUNT with 1 to \(CollectorShare.maxPartitions) partitions"
    }
}

/// The division of shares among collectors, as a pure function: all members compute the same.
enum ShareAssignment {
    /// Returns the owner of each share.
    ///
    /// Each share goes to the member with the highest hash of both (rendezvous hashing), so that few shares move when a
    /// member comes or goes. No member gets more than its part, rounded up.
    static func owners(of shares: [CollectorShare], members: Set<CollectorID>) -> [CollectorShare: CollectorID] {
        guard !members.isEmpty else { return [:] }
        let limit = (shares.count + members.count - 1) / members.count
        var counts: [CollectorID: Int] = [:]
        var owners: [CollectorShare: CollectorID] = [:]
        for share in shares.sorted(by: { $0.description < $1.description }) {
            let ranked = members.sorted { (rank(share, $0), $0) > (rank(share, $1), $1) }
            guard let owner = ranked.first(where: { counts[$0, default: 0] < limit }) else { continue }
            counts[owner, default: 0] += 1
            owners[share] = owner
        }
        return owners
    }

    private static func rank(_ share: CollectorShare, _ member: CollectorID) -> UInt64 {
        var hash = StableHash()
        hash.combine("\(share) \(member)")
        return hash.value
    }
}

/// The rules of all shares of a collector: those that were last read without an error. Shares that are claimed while the
/// file is faulty have the old rules.
final class ClusterRules: Sendable {
    private let load: @Sendable () throws -> RuleSet
    private let rules = Mutex<RuleSet?>(nil)

    init(_ load: @escaping @Sendable () throws -> RuleSet) { self.load = load }

    func current() throws -> RuleSet {
        if let rules = rules.withLock({ $0 }) { return rules }
        return try reload()
    }

    @discardableResult
    func reload() throws -> RuleSet {
        let new = try load()
        rules.withLock { $0 = new }
        return new
    }
}
