import LockstepModel

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
