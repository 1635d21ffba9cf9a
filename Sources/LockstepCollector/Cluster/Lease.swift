import LockstepMQTT
import LockstepModel
import Synchronization

/// A lease of a share, shared by the thread that renews it and the loop that collects the devices of the share.
///
/// The owner renews it every ``renewal``, and relies on it for ``validity`` after it sent the last confirmed renewal. Others
/// claim it when they have seen no renewal for ``timeout``. These times are long enough for a NATS cluster, in which nothing can
/// be written for up to 9 s after a node has failed, until another one is elected.
final class Lease: Sendable {
    /// The time between two renewals of a lease or a membership, in µs.
    static let renewal: Int64 = 2_000_000
    /// The time for which the owner of a lease relies on a confirmed renewal, in µs.
    static let validity: Int64 = 15_000_000
    /// The time without a renewal after which others count a lease as free, in µs.
    static let timeout: Int64 = 18_000_000
    /// The longest time that a turn may take, in µs. It is three times the time for which the store waits for its server.
    static let maxTurn: Int64 = 60_000_000

    private struct Content {
        var token: FencingToken?
        /// The time at which the last confirmed record was sent, in µs of the boot clock.
        var confirmedAt = Int64.min
        var wantsConfirmation = false
        var isReleasing = false
        var end: String?
        /// The start of the current turn of the loop that collects, in µs of the boot clock; nil before it runs.
        var turnStart: Int64?
    }

    let share: CollectorShare
    /// Wakes the thread that renews the lease.
    let keeper = Wakeup()
    /// Wakes the loop that collects.
    let user = Wakeup()
    private let content = Mutex(Content())

    init(_ share: CollectorShare) { self.share = share }

    /// The token, once the lease is held.
    var token: FencingToken? { content.withLock { $0.token } }
    /// Why the lease has ended, or nil.
    var end: String? { content.withLock { $0.end } }
    var isReleasing: Bool { content.withLock { $0.isReleasing } }

    /// Returns whether no other collector can have claimed the lease for lack of renewals. Its token protects the store
    /// in any case.
    func isValid(at boot: Int64) -> Bool {
        content.withLock { $0.token != nil && $0.end == nil && boot - $0.confirmedAt < Self.validity }
    }

    /// The loop that collects begins a turn.
    func beginTurn(at boot: Int64) { content.withLock { $0.turnStart = boot } }

    /// Returns whether the loop that collects hangs. Its lease then has to end, though its connection lives.
    func isHanging(at boot: Int64) -> Bool {
        content.withLock { $0.turnStart.map { boot - $0 > Self.maxTurn } ?? false }
    }

    func requestConfirmation() {
        content.withLock { $0.wantsConfirmation = true }
        keeper.signal()
    }

    /// Returns whether the lease was still held after `boot`.
    func isConfirmed(after boot: Int64) -> Bool { content.withLock { $0.end == nil && $0.confirmedAt > boot } }

    func release() {
        content.withLock { $0.isReleasing = true }
        keeper.signal()
    }

    // For the thread that renews the lease.

    func takeRequest() -> Bool {
        content.withLock { content in
            defer { content.wantsConfirmation = false }
            return content.wantsConfirmation
        }
    }

    func confirm(_ token: FencingToken?, sentAt boot: Int64) {
        content.withLock { content in
            content.token = token
            content.confirmedAt = max(content.confirmedAt, boot)
        }
        user.signal()
    }

    func end(_ reason: String) {
        content.withLock { $0.end = $0.end ?? reason }
        user.signal()
    }
}

/// The content of a lease: `TOKEN OWNER`, or `TOKEN` alone if the share is free.
struct LeaseRecord: Hashable {
    /// The token of the last claim.
    var token: FencingToken
    /// The owner, or nil if the share is free.
    var owner: LeaseOwner?

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
