import LockstepModel

/// What a member knows of its cluster, and what it does: (members, leases, now, me) → actions. It reads no clock.
///
/// Mistakes only cost time: whoever claims a share takes it over safely, see ``LeaseClaim``.
struct ClusterView {
    enum Action: Hashable {
        /// Claim the share, whose lease was found to be free, and collect its devices.
        case start(CollectorShare, claiming: ObservedLease)
        /// Commit, and release the share.
        case stop(CollectorShare)
    }

    /// The time after a connect in which nothing is claimed, because members may not be known yet, in µs.
    static let settling: Int64 = 2_000_000

    /// The maximum number of members that are known. Further ones are ignored: anyone who may write to the topics of the
    /// cluster can name members.
    static let maxMembers = 1000

    let me: CollectorID
    let shares: [CollectorShare]
    /// The leases, and the time at which each was first seen in its present form.
    private var leases: [CollectorShare: (lease: ObservedLease, since: Int64)] = [:]
    private var members: [CollectorID: Int64] = [:]
    /// The time since which the members are known; nil without a connection.
    private var validSince: Int64?
    /// Whether this collector can collect: its store can be opened, and none of its shares hangs.
    private(set) var isAvailable = true

    var memberCount: Int { members.count }

    init(me: CollectorID, shares: [CollectorShare]) {
        self.me = me
        self.shares = shares
    }

    /// The connection was established. The broker sends the retained reports of all members again.
    mutating func connected(at now: Int64) {
        validSince = now + Self.settling
        members = [:]
    }

    /// This process was stopped for a while. All members count as just seen.
    mutating func resumed(at now: Int64) {
        if validSince != nil { validSince = now + Self.settling }
        for id in members.keys { members[id] = now }
    }

    /// The connection was lost. Nothing is decided until the next one.
    mutating func disconnected() { validSince = nil }

    /// This collector can collect, or cannot. Others, which see only its membership, then take its shares.
    mutating func setAvailable(_ isAvailable: Bool, at now: Int64) {
        // Others that became available at the same time are soon known.
        if isAvailable, !self.isAvailable, validSince != nil { validSince = now + Self.settling }
        self.isAvailable = isAvailable
    }

    /// A member has shown that it runs, or that it ends.
    mutating func receivedMember(_ id: CollectorID, isRunning: Bool, at now: Int64) {
        guard isRunning else {
            members[id] = nil
            return
        }
        if members[id] == nil, members.count >= Self.maxMembers {
            members = members.filter { now - $0.value < Lease.timeout }
            guard members.count < Self.maxMembers else { return }
        }
        members[id] = now
    }

    mutating func observed(_ lease: ObservedLease, of share: CollectorShare, at now: Int64) {
        if leases[share]?.lease != lease { leases[share] = (lease, now) }
    }

    /// Returns what to do.
    /// - Parameters:
    ///   - running: the shares that this collector claims or owns.
    ///   - isDraining: whether this collector is about to end.
    func actions(running: Set<CollectorShare>, isDraining: Bool, at now: Int64) -> [Action] {
        if isDraining || !isAvailable { return running.map { .stop($0) } }
        guard let validSince, now >= validSince else { return [] }
        var live = Set(members.filter { now - $0.value < Lease.timeout }.keys)
        live.insert(me)
        let owners = ShareAssignment.owners(of: shares, members: live)
        return shares.compactMap { share in
            let isMine = owners[share] == me
            if running.contains(share) { return isMine ? nil : .stop(share) }
            // A lease that was not read yet may have an owner. Nothing but the time tells that an owner has ended: its
            // connection to the broker may live on another node. This collector's own record is one of an earlier run, which
            // may only have been stopped.
            guard isMine, let (lease, since) = leases[share],
                lease.record?.owner == nil || now - since >= Lease.timeout
            else { return nil }
            return .start(share, claiming: lease)
        }
    }
}
