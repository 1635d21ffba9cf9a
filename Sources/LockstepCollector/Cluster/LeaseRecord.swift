import LockstepModel

/// The content of a lease: `TOKEN OWNER`, or `TOKEN` alone if the share is free.
struct LeaseRecord: Hashable {
    /// The token of the last claim.
    var token: FencingToken
    /// The owner, or nil if the share is free.
    var owner: LeaseOwner?

    /// The payload.
    var payload: [UInt8] { Array((owner.map { "\(token) \($0)" } ?? "\(token)").utf8) }

    init(token: FencingToken, owner: LeaseOwner?) {
        self.token = token
        self.owner = owner
    }

    /// Reads a payload, or returns nil if it is not valid.
    init?(_ payload: some Collection<UInt8>) {
        let parts = String(decoding: payload, as: UTF8.self).split(separator: " ")
        guard (1...2).contains(parts.count), let token = UInt32(parts[0]) else { return nil }
        if parts.count == 2 {
            guard let owner = LeaseOwner(String(parts[1])) else { return nil }
            self.owner = owner
        }
        self.token = FencingToken(rawValue: token)
    }
}

/// One claim of one collector: `COLLECTOR:NUMBER`. The number is random, so that two claims of the same collector differ.
struct LeaseOwner: Hashable, CustomStringConvertible {
    let collector: CollectorID
    let claim: UInt64

    init(collector: CollectorID, claim: UInt64 = .random(in: .min ... .max)) {
        self.collector = collector
        self.claim = claim
    }

    /// Reads a text, or returns nil if it is not valid.
    init?(_ text: String) {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let collector = CollectorID(rawValue: String(parts[0])), let claim = UInt64(parts[1])
        else { return nil }
        self.init(collector: collector, claim: claim)
    }

    var description: String { "\(collector):\(claim)" }
}

/// What the bucket holds about a share.
struct ObservedLease: Hashable {
    /// The record; nil if the key does not exist or its value is not valid.
    let record: LeaseRecord?
    /// The revision of the key; nil if it does not exist.
    let revision: UInt64?

    /// Creates the lease of an entry, or of a key that does not exist.
    init(_ entry: KeyValueEntry?) {
        record = entry.flatMap { LeaseRecord($0.value) }
        revision = entry?.revision
    }
}
