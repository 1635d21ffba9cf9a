import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepSupervision
import LockstepWire
import Logging

extension CollectorHealth.Store {
    /// Creates the published description of a store.
    init(_ location: StoreLocation) {
        self.init(id: location.id, name: location.name, host: location.host)
    }
}

/// What a collector knows about the session of its id at the broker.
struct SessionState {
    /// Whether the broker has accepted a connection of this collector.
    var hasConnected = false
    /// Whether a takeover was reported before a connection.
    var hasAnnounced = false
    /// Whether the check before the first connection has found no other collector.
    var isFree = false
    /// Whether the broker could not be reached since the last connection.
    var wasUnreachable = false
    /// Why the last check found out nothing, until the next connection.
    var unknown: String?
    /// The store of another collector that is using the session, as far as known.
    var other: CollectorHealth.Store?

    /// Records a connection.
    mutating func didConnect() {
        hasConnected = true
        wasUnreachable = false
    }
}

extension CollectorLoop {
    /// Ends a collector that was started by mistake, before it does anything: its rules could send notifications.
    /// - Throws: ``OtherStoreError`` if another collector with this id is running with another store.
    func checkSessionAtStart(until isStopping: () -> Bool) throws {
        guard checksSession(), case .taken(let other) = checkSession(isStarting: true, until: isStopping) else {
            return
        }
        throw conflict(with: other)
    }

    /// Returns whether the collector may connect: no other collector with its id is running with another store.
    ///
    /// Without an answer of the broker, it may: its own attempt then reports the reason.
    func mayUseSession(until isStopping: () -> Bool) -> Bool {
        if session.isFree {
            // The check at the start was just now.
            session.isFree = false
            return true
        }
        guard checksSession() else {
            if configuration.takesOver { announceTakeover() }
            return true
        }
        session.unknown = nil
        switch checkSession(until: isStopping) {
        case .free:
            if session.other != nil { logger.info("the other collector with this id is gone") }
            session.other = nil
            session.isFree = false
            return true
        // The other collector may still be running.
        case .unknown(let reason):
            guard session.other == nil, !isStopping() else { return false }
            session.unknown = reason
            return true
        case .taken(let other):
            if session.hasConnected { stayAway(from: other) } else { problemAtStart = conflict(with: other) }
            return false
        }
    }

    /// Whether another collector could use the session. A standby has waited for its end, and the connection of a share
    /// belongs to its lease.
    private func checksSession() -> Bool {
        lease == nil && (session.hasConnected || configuration.standby == nil && !configuration.takesOver)
    }

    /// Reports this store before the connection that ends that of the other collector. Otherwise, that one would find only
    /// its own report until this one has sent its first, and could connect again.
    private func announceTakeover() {
        guard report.store != nil else { return }
        session.hasAnnounced = true
        if !separateReport.publish(report.status, replacesOther: true, until: .now + .seconds(3)) {
            logger.warning(
                "cannot report the takeover",
                metadata: ["hint": "check whether this user may write '\(configuration.healthTopic)'"])
        }
    }

    /// Logs that the collector has connected although it is not known whether another one is running.
    func warnIfUnchecked() {
        guard let reason = session.unknown else { return }
        session.unknown = nil
        logger.warning(
            "connected without a check for another collector with this id",
            metadata: [
                "error": "\(reason)", "hint": "give each collector its own --id",
            ])
    }

    private func checkSession(isStarting: Bool = false, until isStopping: () -> Bool) -> StoreCheck.Outcome {
        guard let store = report.store else { return .free }
        let check = StoreCheck(
            configuration: configuration, store: store, logger: logger, isReconnecting: session.hasConnected,
            wasUnreachable: session.wasUnreachable)
        let result = check.run {
            // The first turn reports to the service manager that the collector is ready.
            if !isStarting { supervisor.didTurn(summary) }
            return isStopping()
        }
        session.isFree = result == .free
        return result
    }

    private func conflict(with other: CollectorHealth.Store) -> OtherStoreError {
        OtherStoreError(id: configuration.id, other: other, own: report.store ?? other)
    }

    private func stayAway(from other: CollectorHealth.Store) {
        guard other != session.other else { return }
        session.other = other
        didStayAway()
        logger.error(
            "another collector with this id is running with another store, staying disconnected",
            metadata: [
                "id": "\(configuration.id)", "host": "\(other.host.plain)", "store": "\(other.name.plain)",
                "checks_again": "within \(Backoff().maximum.components.seconds)s",
                "hint": "stop one of the two, or give each its own --id",
            ])
    }
}
