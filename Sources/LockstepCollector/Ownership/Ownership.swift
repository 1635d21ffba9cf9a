import LockstepMQTT
import LockstepWire

/// Why this collector is the only one that stores and acknowledges the samples of its devices.
///
/// | Kind | What excludes another collector | Ends |
/// |---|---|---|
/// | ``session(_:)`` | the session of the id at the broker: before each connection, ``StoreCheck`` looks for another collector that uses it with another store. The lock of an SQLite file excludes another one with the same store; a standby waits for it, see ``StandbyLoop`` | never; without the session, the collector stays disconnected |
/// | ``share(_:_:)`` | the lease of a share of a cluster, see ``LeaseClaim``, and the token of its claim, which the store compares | with the lease, or with the connection to the broker |
///
/// The loop asks ``mayRead``, ``mayStore(at:)`` and ``maySend(at:)``, and passes on what happens.
enum Ownership {
    /// All devices of the groups, with the session of the collector's id.
    case session(SessionState)
    /// The devices of a share.
    case share(Lease, ShareState)

    /// What has become of the claim of a share.
    enum ShareState {
        /// The lease is held, but the share is not taken over yet. A connection must be established until the deadline.
        /// - Parameter problem: why the last attempt to connect failed.
        case claimed(connectBy: ContinuousClock.Instant, problem: String?)
        /// The share was taken over.
        case owned
        /// Another collector may own the share, or soon will.
        case lost(ShareProblem)
    }

    /// The session of a collector's id, of which nothing is known.
    init() { self = .session(SessionState()) }

    /// A share whose lease is held.
    init(claiming lease: Lease) { self = .share(lease, .claimed(connectBy: .now + ShareRun.patience, problem: nil)) }

    // MARK: Questions

    /// Whether messages may be read. Before a share is taken over, only the broker's answer to the connect is read, with
    /// what the broker has sent together with it. It is acknowledged with the first packet after the takeover.
    var mayRead: Bool {
        switch self {
        case .session, .share(_, .owned): true
        case .share: false
        }
    }

    /// Returns whether rows may be stored. A share whose lease was not renewed is lost.
    /// - Parameter time: returns the time in µs of the boot clock. It is called last, and only for a share.
    mutating func mayStore(at time: () -> Int64) -> Bool { mayRead && maySend(at: time) }

    /// Returns whether anything may be sent to the broker: acknowledgements, and states, which the next owner publishes
    /// otherwise. A share whose lease was not renewed is lost.
    mutating func maySend(at time: () -> Int64) -> Bool {
        guard case .share(let lease, let state) = self else { return true }
        if case .lost = state { return false }
        if lease.isValid(at: time()) { return true }
        lose(ShareProblem(lease.end ?? "the lease was not renewed in time"))
        return false
    }

    /// Whether the collector has to end without a last commit.
    var hasEnded: Bool {
        switch self {
        case .session(let session): session.conflict != nil
        case .share(_, .lost): true
        case .share(let lease, _): lease.end != nil
        }
    }

    /// Whether it ends with the connection, so that the next owner begins with what the store and the broker have.
    var endsWithConnection: Bool { if case .share = self { true } else { false } }

    /// Why the share was lost; nil if it is not lost.
    var shareProblem: ShareProblem? {
        switch self {
        case .session: nil
        case .share(_, .lost(let problem)): problem
        case .share(let lease, _): lease.end.map { ShareProblem($0) }
        }
    }

    // MARK: Events

    /// The collector begins a turn. A share that has no connection in time is lost.
    mutating func beginTurn(at boot: Int64) {
        guard case .share(let lease, let state) = self else { return }
        lease.beginTurn(at: boot)
        if case .claimed(let deadline, let problem) = state, .now >= deadline {
            lose(ShareProblem(problem ?? "no connection to the broker in time"))
        }
    }

    /// The broker has accepted a connection.
    mutating func didConnect() {
        updateSession {
            $0.phase = .used
            $0.wasUnreachable = false
        }
    }

    /// The store has the token of the claim, and the devices were read from it.
    mutating func didTakeOver() {
        if case .share(let lease, .claimed) = self { self = .share(lease, .owned) }
    }

    /// An attempt to connect has failed. Until the deadline, another node of the broker may accept a share's connection.
    mutating func didFailToConnect(_ error: MQTTError) {
        if error.code == .unreachable { updateSession { $0.wasUnreachable = true } }
        guard case .share(let lease, .claimed(let deadline, _)) = self else { return lose(ShareProblem(error)) }
        self = .share(lease, .claimed(connectBy: deadline, problem: "\(error)"))
    }

    /// The share is lost, unless it was before. A session stays.
    mutating func lose(_ problem: ShareProblem) {
        guard case .share(let lease, let state) = self else { return }
        if case .lost = state { return }
        self = .share(lease, .lost(problem))
    }

    /// Changes what is known of the session. A share has none of its own.
    mutating func updateSession(_ body: (inout SessionState) -> Void) {
        guard case .session(var session) = self else { return }
        body(&session)
        self = .session(session)
    }
}

/// What a collector knows about the session of its id at the broker.
struct SessionState {
    enum Phase: Equatable {
        /// The broker has not accepted a connection of this collector.
        case new
        /// As `new`, and the check of the start has found no other collector. It is good for one connection.
        case checked
        /// As `new`, and a takeover was reported.
        case announced
        /// The broker has accepted a connection.
        case used
        /// Another collector is using the session, and this one stays disconnected.
        case taken(by: CollectorHealth.Store)
        /// Another collector is using the session, and this one must not start.
        case refused(OtherStoreError)
    }

    var phase = Phase.new
    /// Whether the broker could not be reached since the last connection.
    var wasUnreachable = false
    /// Why the last check found out nothing, until the next connection.
    var unknown: String?

    /// Whether the broker has accepted a connection.
    var hasConnected: Bool {
        switch phase {
        case .new, .checked, .announced, .refused: false
        case .used, .taken: true
        }
    }

    /// The store of the other collector that is using the session.
    var other: CollectorHealth.Store? { if case .taken(let other) = phase { other } else { nil } }

    /// Why the collector must not start.
    var conflict: OtherStoreError? { if case .refused(let conflict) = phase { conflict } else { nil } }
}
