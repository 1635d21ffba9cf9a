import LockstepModel

/// Claims a lease over a connection that the broker grants to one client at a time, without I/O.
///
/// All collectors that claim a share use the same client id for it. The broker ends the connection of the previous one
/// when another connects, and from then on processes nothing that the previous one sends. A claim therefore reads the
/// retained record of the last claim, and publishes a higher token, with no other claim in between.
///
/// A broker does not report that there is no retained record. The claim publishes a probe that the broker returns after
/// the retained record. It must not publish a record before: a lower token would replace that of the last claim.
struct LeaseClaim {
    enum Phase: Equatable {
        case starting
        /// The probe is published.
        case probing
        /// The record is published, and not confirmed yet.
        case claiming(FencingToken)
        case held(FencingToken)
        /// Another collector has claimed the share.
        case lost
        /// The last claim has the highest token that exists.
        case exhausted
    }

    /// This claim.
    let owner: LeaseOwner
    private(set) var phase = Phase.starting
    /// The highest token that was received.
    private var highest: FencingToken
    /// The lowest token to use, in case the broker has lost the record: the time in s since 1970, or what the store needs.
    private let floor: UInt32

    init(_ owner: LeaseOwner, floor: UInt32) {
        self.owner = owner
        self.floor = floor
        highest = FencingToken(rawValue: 0)
    }

    /// The highest floor that the clock gives. A clock far in the future must not use up all tokens: a share could never be
    /// claimed again.
    private static let highestFloor = UInt32.max - (1 << 24)

    /// Returns the lowest token to use, as far as it depends on the time: the time in s since 1970.
    static func floor(at now: Timestamp) -> UInt32 {
        min(UInt32(clamping: now.microseconds / 1_000_000), highestFloor)
    }

    /// The token, if the lease is held.
    var token: FencingToken? { if case .held(let token) = phase { token } else { nil } }

    /// The token that was published, also if the claim does not hold yet.
    var published: FencingToken? {
        switch phase {
        case .starting, .probing, .lost, .exhausted: nil
        case .claiming(let token), .held(let token): token
        }
    }

    /// The broker has granted the subscriptions to the lease and to the probe.
    /// - Returns: whether to publish the probe.
    mutating func subscribed() -> Bool {
        guard phase == .starting else { return false }
        phase = .probing
        return true
    }

    /// The broker has returned the probe of a claim.
    /// - Returns: the record to publish, or nil if the probe is of another claim or no higher token exists.
    mutating func returned(_ owner: LeaseOwner) -> LeaseRecord? {
        guard phase == .probing, owner == self.owner else { return nil }
        guard highest.rawValue < .max else {
            phase = .exhausted
            return nil
        }
        let token = FencingToken(rawValue: max(highest.rawValue + 1, floor))
        phase = .claiming(token)
        return LeaseRecord(token: token, owner: owner)
    }

    /// A record was received.
    mutating func received(_ record: LeaseRecord) {
        highest = max(highest, record.token)
        guard let published, record.owner != owner else { return }
        if record.token >= published { phase = .lost }
    }

    /// The broker has confirmed a published record.
    mutating func confirmed(_ record: LeaseRecord) {
        if phase == .claiming(record.token) { phase = .held(record.token) }
    }
}
