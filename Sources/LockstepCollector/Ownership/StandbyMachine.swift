import LockstepWire

/// Decides when a standby takes over from the active collector with the same id, without I/O. Times are in µs of the boot
/// clock.
struct StandbyMachine {
    /// Why a standby tries to take over.
    enum Reason: String, Hashable {
        /// The active collector has stopped, or the broker has lost its connection.
        case offline
        /// The active collector has not reported its health for too long.
        case silent
        /// No collector with this id has reported its health.
        case none = "no collector"
    }

    /// The time for which a last will must be the last report, in µs. A broker may also publish the will of an old connection
    /// when the same client connects again.
    static let willDelay: Int64 = 5_000_000

    /// The interval at which the active collector reports its health.
    let healthInterval: Int64
    private var status: CollectorHealth.Status?
    /// Whether the active collector has said itself that it stops.
    private var hasStopped = false
    /// The time of the subscription, or of the last report after it; nil while there is no subscription.
    private var listeningSince: Int64?

    init(healthInterval: Int64) { self.healthInterval = healthInterval }

    /// The broker has granted the subscription to the health reports. It sends the last one again.
    mutating func subscribed(at now: Int64) {
        status = nil
        hasStopped = false
        listeningSince = now
    }

    /// This process was stopped for a while. What is known may be old.
    mutating func resumed(at now: Int64) {
        hasStopped = false
        if listeningSince != nil { listeningSince = now }
    }

    /// The connection has ended. Nothing can be decided without it.
    mutating func disconnected() { listeningSince = nil }

    /// A health report was received, which may be retained.
    /// - Parameter isWill: whether it is the last will of a connection.
    mutating func received(_ status: CollectorHealth.Status, isWill: Bool, at now: Int64) {
        self.status = status
        hasStopped = status == .offline && !isWill
        if listeningSince != nil { listeningSince = now }
    }

    /// Returns why to take over now, or nil to wait.
    func reason(at now: Int64) -> Reason? {
        guard let listeningSince else { return nil }
        let silence = now - listeningSince
        switch status {
        case .offline: return hasStopped || silence >= Self.willDelay ? .offline : nil
        case .online, .stalled: return silence >= 3 * healthInterval ? .silent : nil
        // A collector that runs reports within one interval.
        case nil: return silence >= healthInterval + healthInterval / 2 ? Reason.none : nil
        }
    }
}
