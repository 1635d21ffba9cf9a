import LockstepModel

/// Claims and renews a lease in a key-value bucket, without I/O.
///
/// A write succeeds only if the key still has the expected revision. A claim expects the revision that was observed when
/// the lease was found to be free: released, or not renewed for ``Lease/timeout``. So it fails if the owner has renewed
/// the lease meanwhile, or if another collector was faster. A renewal expects the revision of the owner's last write.
///
/// A server may compare the revision before its cluster agrees on the write, as nats-server did before the fix of its issue
/// 4320. Two writes in flight can then both succeed. Only the later of them has the last revision, so that the next write
/// fails for the other: a claim is safe when a second write has succeeded, see ``CollectorLoop/takeOver()``.
struct LeaseClaim {
    enum Phase: Equatable {
        case claiming
        case held
        /// Another collector owns the share.
        case lost
        /// The key was deleted while the lease was held.
        case deleted
        /// The last claim has the highest token that exists.
        case exhausted
    }

    enum Step: Equatable {
        /// Write the record if the key has this revision, then call ``wrote(revision:)`` or ``writeFailed()``.
        case write(LeaseRecord, expecting: UInt64?)
        /// Read the key, then call ``read(_:)``; if this fails, try again.
        case read
    }

    let owner: LeaseOwner
    private(set) var phase: Phase
    let token: FencingToken
    /// The revision that the key has unless another collector has written it, nil if it does not exist.
    private var revision: UInt64?
    /// Whether the last write may have succeeded, so that the key has to be read.
    private var isUncertain = false

    /// - Parameters:
    ///   - lease: the lease as it was when it was found to be free.
    ///   - floor: the lowest token to use, in case the cluster has lost the record.
    init(_ owner: LeaseOwner, claiming lease: ObservedLease, floor: UInt32) {
        self.owner = owner
        revision = lease.revision
        let last = lease.record?.token.rawValue ?? 0
        phase = last < .max ? .claiming : .exhausted
        token = FencingToken(rawValue: max(last < .max ? last + 1 : last, floor))
    }

    /// The highest floor that the clock gives. A clock far in the future must not use up all tokens: a share could never be
    /// claimed again.
    private static let highestFloor = UInt32.max - (1 << 24)

    /// Returns the lowest token to use, as far as it depends on the time: the time in s since 1970. It is for a cluster that has
    /// lost the record of the last claim.
    static func floor(at now: Timestamp) -> UInt32 {
        min(UInt32(clamping: now.microseconds / 1_000_000), highestFloor)
    }

    /// What to do next, to claim or to renew the lease; nil if it is lost.
    var next: Step? {
        switch phase {
        case .lost, .deleted, .exhausted: nil
        case .claiming, .held:
            isUncertain ? .read : .write(LeaseRecord(token: token, owner: owner), expecting: revision)
        }
    }

    /// The record with which to release the lease, and the expected revision; nil if it is not held.
    var release: (record: LeaseRecord, revision: UInt64?)? {
        phase == .held ? (LeaseRecord(token: token, owner: nil), revision) : nil
    }

    /// The record was written: the lease is held.
    mutating func wrote(revision: UInt64) {
        self.revision = revision
        isUncertain = false
        phase = .held
    }

    /// A write failed. It may have been carried out nevertheless.
    mutating func writeFailed() { isUncertain = true }

    /// The key was read after a failed write.
    mutating func read(_ lease: ObservedLease) {
        if lease.record?.owner == owner {
            // A write whose answer was lost has succeeded.
            phase = .held
            // A lagging replica may answer with an earlier revision. The next write then fails, and the key is read again.
            revision = max(revision ?? 0, lease.revision ?? 0)
            isUncertain = false
        } else if let record = lease.record, record.token > token {
            // Not a lagging replica, though the revision is low if the bucket was created anew.
            phase = .lost
        } else if let found = lease.revision, let revision, found <= revision {
            // The write was not carried out, or a lagging replica has answered.
            isUncertain = false
        } else if lease.revision == nil, revision == nil || phase == .claiming {
            // The key does not exist, also because the cluster has lost it.
            revision = nil
            isUncertain = false
        } else {
            phase = lease.revision == nil ? .deleted : .lost
        }
    }
}
