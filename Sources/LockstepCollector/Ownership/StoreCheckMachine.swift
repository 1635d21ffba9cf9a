import LockstepWire

/// Decides whether another collector with the same id is running that writes to another store, without I/O. Times are in
/// µs of the boot clock.
///
/// If both used the session of that id, the broker would give its messages to either of them, and each store would lack
/// a part of the samples, which agents delete once one of the two has acknowledged them.
///
/// A retained report proves nothing: after a power cut, the broker may keep the report of a collector that is gone. Only
/// a report that is sent now does. Neither do wall clocks, which may be wrong.
struct StoreCheckMachine {
    enum Decision: Hashable {
        /// Not known yet.
        case wait
        /// No other collector is running.
        case connect
        /// The collector with this store is running.
        case stayAway(CollectorHealth.Store)
    }

    /// The time to wait for a retained report after the broker has confirmed the subscription, in µs.
    static let retainedDelay: Int64 = 200_000

    /// The time to wait for the first report of another collector that has ended this connection, in µs. Until then, the
    /// broker has the last will of this collector.
    static let takeoverDelay: Int64 = 3_000_000

    /// The same time if the broker still has the last report of this collector, in µs: most brokers that were restarted have
    /// it, too.
    static let ownReportDelay: Int64 = 2_000_000

    let store: CollectorHealth.Store
    /// The interval at which collectors report their health, in µs.
    let healthInterval: Int64
    /// Whether this collector had a connection, and may have lost it to another one.
    let isReconnecting: Bool
    /// Whether the broker could not be reached since then, so that it has ended the connection, or the network has.
    private(set) var wasUnreachable: Bool
    private var subscribedAt: Int64?
    private var hasReport = false
    /// The other stores that retained reports name, by topic.
    private var candidates: [String: CollectorHealth.Store] = [:]
    private var other: CollectorHealth.Store?
    /// Whether another store was at the same place when a collector last reported.
    private var hasEarlierStore = false
    /// The time until which a collector whose last will was received may report that it is back.
    private var returnDeadline = Int64.min

    init(
        store: CollectorHealth.Store, healthInterval: Int64, isReconnecting: Bool = false, wasUnreachable: Bool = false
    ) {
        self.store = store
        self.healthInterval = healthInterval
        self.isReconnecting = isReconnecting
        self.wasUnreachable = wasUnreachable
    }

    /// The store of a collector that may be running.
    var candidate: CollectorHealth.Store? { candidates.min { $0.key < $1.key }?.value }

    /// Returns whether the store is probably not the one of this place: the disk of that one may not be mounted.
    /// - Parameter isNew: whether it has no devices.
    func hasReplacedStore(isNew: Bool) -> Bool { isNew && hasEarlierStore }

    /// The broker cannot be reached.
    mutating func unreachable() { wasUnreachable = true }

    /// The connection has ended. The next one begins anew.
    mutating func disconnected() {
        self = StoreCheckMachine(
            store: store, healthInterval: healthInterval, isReconnecting: isReconnecting, wasUnreachable: wasUnreachable
        )
    }

    /// The broker has confirmed the subscription, after which it sends retained reports.
    mutating func subscribed(at now: Int64) { subscribedAt = subscribedAt ?? now }

    mutating func received(_ health: CollectorHealth, on topic: String, isRetained: Bool, at now: Int64) {
        hasReport = true
        if let reported = health.store, isRetained, reported.id != store.id,
            (reported.name, reported.host) == (store.name, store.host)
        {
            hasEarlierStore = true
        }
        // A last will that says 'offline', a share of a cluster and a collector of an earlier version name no store.
        if health.status != .offline, let other = health.store, other.id != store.id {
            if isRetained { candidates[topic] = other } else { self.other = other }
            return
        }
        // A broker may also publish the will of an old connection when the same collector connects again.
        let isWill = health.started == nil
        if candidates.removeValue(forKey: topic) != nil, isWill { returnDeadline = now + StandbyMachine.willDelay }
        if isReconnecting, isRetained {
            returnDeadline = max(returnDeadline, now + takeoverDelay(health.status, isWill))
        }
    }

    /// Returns the time for which a collector that has taken over the session may report itself, in µs.
    private func takeoverDelay(_ retained: CollectorHealth.Status, _ isWill: Bool) -> Int64 {
        // The last will 'stalled' is there after each attempt of a collector whose disk is full.
        if isWill { return retained == .offline ? Self.takeoverDelay : 0 }
        return retained == .offline || wasUnreachable ? 0 : Self.ownReportDelay
    }

    /// Returns what to do now.
    func decision(at now: Int64) -> Decision {
        if let other { return .stayAway(other) }
        guard let subscribedAt, now >= returnDeadline else { return .wait }
        // A collector that is running reports within one interval, or later on a slow disk. The broker needs 23 s to find out
        // that a machine has lost its power, and then publishes the last will.
        let limit = !candidates.isEmpty ? 3 * healthInterval : hasReport ? 0 : Self.retainedDelay
        return now - subscribedAt >= limit ? .connect : .wait
    }
}
