import LockstepModel

/// What a member knows of its cluster, and what it does: (members, leases, now, me) → actions. It reads no clock.
///
/// Mistakes only cost time: whoever claims a share takes it over safely, see ``LeaseClaim``.
struct ClusterView {
    enum Action: Hashable {
        /// Claim the share and collect its devices.
        case start(CollectorShare)
        /// Commit, and release the share.
        case stop(CollectorShare)
    }

    /// The time after a connect in which nothing is claimed, because members may not be known yet, in µs.
    static let settling: Int64 = 2_000_000

    /// The maximum number of members that are known. Further ones are ignored: anyone who may write to the topics of the
    /// cluster can name members.
    static let maxMembers = 1000

    private struct Lease {
        var record: LeaseRecord
        var seenAt: Int64
        var isLost = false
    }

    let me: CollectorID
    let shares: [CollectorShare]
    private let timing: LeaseTiming
    /// The leases in a key-value bucket, and the time at which each was first seen in its present form.
    private var observed: [CollectorShare: (lease: ObservedLease, since: Int64)] = [:]
    /// Whether leases are in a key-value bucket. Otherwise they are retained messages.
    private let hasBucket: Bool
    private var members: [CollectorID: Int64] = [:]
    private var leases: [CollectorShare: Lease] = [:]
    /// The time since which the view is complete; nil without a connection.
    private var validSince: Int64?
    /// Whether this collector can collect: its store can be opened, and none of its shares hangs.
    private(set) var isAvailable = true

    /// The number of members that are known.
    var memberCount: Int { members.count }

    init(me: CollectorID, shares: [CollectorShare], timing: LeaseTiming = .broker, hasBucket: Bool = false) {
        self.me = me
        self.shares = shares
        self.timing = timing
        self.hasBucket = hasBucket
    }

    /// The connection was established. The broker sends the retained records of all members and leases again.
    mutating func connected(at now: Int64) {
        validSince = now + Self.settling
        members = [:]
        leases = [:]
    }

    /// This process was stopped for a while. Everything that is known counts as just seen.
    mutating func resumed(at now: Int64) {
        if validSince != nil { validSince = now + Self.settling }
        for id in members.keys { members[id] = now }
        for share in leases.keys { leases[share]?.seenAt = now }
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
            members = members.filter { now - $0.value < timing.timeout }
            guard members.count < Self.maxMembers else { return }
        }
        members[id] = now
    }

    /// A lease was claimed, renewed or released.
    mutating func received(_ record: LeaseRecord, of share: CollectorShare, at now: Int64) {
        if let known = leases[share], known.record.token > record.token { return }
        leases[share] = Lease(record: record, seenAt: now)
    }

    /// A lease was read from the bucket.
    mutating func observed(_ lease: ObservedLease, of share: CollectorShare, at now: Int64) {
        if observed[share]?.lease != lease { observed[share] = (lease, now) }
    }

    /// Returns the lease of a share to claim, as it was when it was found to be free.
    func freeLease(of share: CollectorShare) -> ObservedLease? { observed[share]?.lease }

    /// The connection of an owner was lost.
    mutating func lost(_ owner: LeaseOwner, of share: CollectorShare) {
        if leases[share]?.record.owner == owner { leases[share]?.isLost = true }
    }

    /// Returns what to do.
    /// - Parameters:
    ///   - running: the shares that this collector claims or owns.
    ///   - isDraining: whether this collector is about to end.
    func actions(running: Set<CollectorShare>, isDraining: Bool, at now: Int64) -> [Action] {
        if isDraining || !isAvailable { return running.map { .stop($0) } }
        guard let validSince, now >= validSince else { return [] }
        var live = Set(members.filter { now - $0.value < timing.timeout }.keys)
        live.insert(me)
        let owners = ShareAssignment.owners(of: shares, members: live)
        return shares.compactMap { share in
            let isMine = owners[share] == me
            if running.contains(share) { return isMine ? nil : .stop(share) }
            return isMine && isFree(share, at: now) ? .start(share) : nil
        }
    }

    /// Returns whether nobody owns the share. This collector's own record is one of an earlier run.
    private func isFree(_ share: CollectorShare, at now: Int64) -> Bool {
        if hasBucket {
            // Nothing but the time tells that an owner has ended: its connection may live on another node.
            guard let (lease, since) = observed[share] else { return false }
            return lease.record?.owner == nil || now - since >= timing.timeout
        }
        guard let lease = leases[share], let owner = lease.record.owner else { return true }
        return lease.isLost || owner.collector == me || now - lease.seenAt >= timing.timeout
    }
}
