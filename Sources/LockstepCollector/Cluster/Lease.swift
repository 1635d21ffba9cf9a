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
    /// Whether the owner has released the lease.
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

    /// Asks for a confirmation.
    func requestConfirmation() {
        content.withLock { $0.wantsConfirmation = true }
        keeper.signal()
    }

    /// Returns whether the lease was still held after `boot`.
    func isConfirmed(after boot: Int64) -> Bool { content.withLock { $0.end == nil && $0.confirmedAt > boot } }

    /// Gives the lease back.
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
