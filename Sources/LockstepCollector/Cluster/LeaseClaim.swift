import LockstepModel

/// Claims a lease over a connection that the broker grants to one client at a time, without I/O.
///
/// All collectors that claim a share use the same client id for it. The broker ends the connection of the previous one
/// when another connects, and from then on processes nothing that the previous one sends. A claim therefore reads the
/// retained record of the last claim, and publishes a higher token, with no other claim in between. The claim holds when
/// the broker has confirmed the record and returned it, which shows that all earlier records have been received.
struct LeaseClaim {
    enum Phase: Equatable {
        case starting
        case claiming(FencingToken, isConfirmed: Bool, isReturned: Bool)
        case held(FencingToken)
        /// Another collector has claimed the share.
        case lost
    }

    /// This claim.
    let owner: LeaseOwner
    private(set) var phase = Phase.starting
    /// The highest token that was received.
    private var highest: FencingToken
    /// The lowest token to use, in case the broker has lost the record: the time in s since 1970.
    private let floor: UInt32

    init(_ owner: LeaseOwner, floor: UInt32) {
        self.owner = owner
        self.floor = floor
        highest = FencingToken(rawValue: 0)
    }

    /// The token, if the lease is held.
    var token: FencingToken? { if case .held(let token) = phase { token } else { nil } }

    /// The token that was published last, also if the claim does not hold yet.
    var published: FencingToken? {
        switch phase {
        case .starting, .lost: nil
        case .claiming(let token, _, _), .held(let token): token
        }
    }

    /// The broker has granted the subscription to the lease's topic.
    /// - Returns: the record to publish.
    mutating func subscribed() -> LeaseRecord? { phase == .starting ? claim() : nil }

    /// A record was received.
    /// - Returns: the record to publish, if an earlier claim has the same or a higher token.
    mutating func received(_ record: LeaseRecord) -> LeaseRecord? {
        highest = max(highest, record.token)
        switch phase {
        case .starting, .lost: return nil
        case .claiming(let token, let isConfirmed, _):
            guard record != LeaseRecord(token: token, owner: owner) else {
                settle(token, isConfirmed: isConfirmed, isReturned: true)
                return nil
            }
            return record.token >= token ? claim() : nil
        case .held(let token):
            if record.token > token || (record.token == token && record.owner != owner) { phase = .lost }
            return nil
        }
    }

    /// The broker has confirmed a published record.
    mutating func confirmed(_ record: LeaseRecord) {
        guard case .claiming(let token, _, let isReturned) = phase, record.token == token else { return }
        settle(token, isConfirmed: true, isReturned: isReturned)
    }

    private mutating func claim() -> LeaseRecord {
        let token = FencingToken(rawValue: max(highest.rawValue == .max ? .max : highest.rawValue + 1, floor))
        phase = .claiming(token, isConfirmed: false, isReturned: false)
        return LeaseRecord(token: token, owner: owner)
    }

    private mutating func settle(_ token: FencingToken, isConfirmed: Bool, isReturned: Bool) {
        phase =
            isConfirmed && isReturned
            ? .held(token) : .claiming(token, isConfirmed: isConfirmed, isReturned: isReturned)
    }
}
