import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire
import Logging

extension CollectorHealth.Store {
    /// Creates the published description of a store.
    init(_ location: StoreLocation) {
        self.init(id: location.id, name: location.name, host: location.host)
    }
}

// What the loop does to own its devices, and to find out whether it may connect. ``Ownership`` has the state.

extension CollectorLoop {
    func mayConnect(until isStopping: () -> Bool) -> Bool {
        switch ownership {
        case .session(let session): mayUse(session, until: isStopping)
        // The connection of a share belongs to its claim, and is made once.
        case .share(_, .claimed): !ownership.hasEnded
        case .share: false
        }
    }

    // MARK: Shares

    /// Takes over the share on a connection that was just established.
    ///
    /// The connection has ended that of the previous owner: the broker processes nothing from it any more. If it is a
    /// cluster of nodes, the lease has ended before, see ``Lease``. A lease that is confirmed afterwards shows that no
    /// later owner exists, or that it has yet to connect. What the previous owner has published is in the store, because
    /// it was committed before.
    func takeOver() {
        guard case .share(let lease, .claimed) = ownership else { return }
        do {
            let connected = Moment.now().boot
            lease.requestConfirmation()
            let deadline = ContinuousClock.now + ShareRun.patience
            while !lease.isConfirmed(after: connected) {
                if let end = lease.end { throw ShareProblem(end) }
                guard ContinuousClock.now < deadline else {
                    throw ShareProblem("the lease was not confirmed in time")
                }
                link.waitForSignal(until: .now + .milliseconds(200))
            }
            guard let token = lease.token else { throw ShareProblem("the lease has ended") }
            try writer.takeOver(token) { [share = lease.share] in share.contains($0) }
            try restore()
            // The states of rules are read after the token was written.
            rules.start()
            ownership.didTakeOver()
            logger.info("share taken over", metadata: ["token": "\(token)", "devices": "\(registry.deviceCount)"])
        } catch { ownership.lose(error as? ShareProblem ?? ShareProblem(error)) }
    }

    // MARK: Sessions

    /// Ends a collector that was started by mistake, before it does anything: its rules could send notifications.
    /// - Throws: ``OtherStoreError`` if another collector with this id is running with another store.
    func checkSessionAtStart(until isStopping: () -> Bool) throws {
        guard case .session(let session) = ownership, needsCheck(session) else { return }
        switch check(session, isStarting: true, until: isStopping) {
        case .free: ownership.updateSession { $0.phase = .checked }
        case .taken(let other): throw conflict(with: other)
        case .unknown: break
        }
    }

    /// Returns whether no other collector with this id is running with another store.
    ///
    /// Without an answer of the broker, the loop connects: its own attempt then reports the reason.
    private func mayUse(_ session: SessionState, until isStopping: () -> Bool) -> Bool {
        guard session.phase != .checked else {
            ownership.updateSession { $0.phase = .new }
            return true
        }
        guard needsCheck(session) else {
            if case .takeOver = configuration.sessionClaim { announceTakeover() }
            return true
        }
        ownership.updateSession { $0.unknown = nil }
        switch check(session, until: isStopping) {
        case .free:
            if session.other != nil {
                logger.info("the other collector with this id is gone")
                ownership.updateSession { $0.phase = .used }
            }
            return true
        // The other collector may still be running.
        case .unknown(let reason):
            guard session.other == nil, !isStopping() else { return false }
            ownership.updateSession { $0.unknown = reason }
            return true
        case .taken(let other):
            if session.hasConnected {
                stayAway(from: other, unlessKnown: session.other)
            } else {
                ownership.updateSession { $0.phase = .refused(conflict(with: other)) }
            }
            return false
        }
    }

    /// Whether another collector could use the session. A standby has waited for its end.
    private func needsCheck(_ session: SessionState) -> Bool {
        if case .ifFree = configuration.sessionClaim { return true }
        return session.hasConnected
    }

    /// Reports this store before the connection that ends that of the other collector. Otherwise, that one would find only
    /// its own report until this one has sent its first, and could connect again.
    private func announceTakeover() {
        guard report.store != nil else { return }
        ownership.updateSession { $0.phase = .announced }
        if !separateReport.publish(report.status, replacesOther: true, until: .now + .seconds(3)) {
            logger.warning(
                "cannot report the takeover",
                metadata: ["hint": "check whether this user may write '\(configuration.healthTopic)'"])
        }
    }

    /// Logs that the collector has connected although it is not known whether another one is running.
    func warnIfUnchecked() {
        guard case .session(let session) = ownership, let reason = session.unknown else { return }
        ownership.updateSession { $0.unknown = nil }
        logger.warning(
            "connected without a check for another collector with this id",
            metadata: [
                "error": "\(reason)", "hint": "give each collector its own --id",
            ])
    }

    private func check(
        _ session: SessionState, isStarting: Bool = false, until isStopping: () -> Bool
    ) -> StoreCheck.Outcome {
        guard let store = report.store else { return .free }
        let check = StoreCheck(
            configuration: configuration, store: store, logger: logger, isReconnecting: session.hasConnected,
            wasUnreachable: session.wasUnreachable, isStoreNew: registry.deviceCount == 0)
        return check.run {
            // The first turn reports to the service manager that the collector is ready.
            if !isStarting { supervisor.didTurn(summary) }
            return isStopping()
        }
    }

    private func conflict(with other: CollectorHealth.Store) -> OtherStoreError {
        OtherStoreError(id: configuration.id, other: other, own: report.store ?? other)
    }

    private func stayAway(from other: CollectorHealth.Store, unlessKnown known: CollectorHealth.Store?) {
        guard other != known else { return }
        ownership.updateSession { $0.phase = .taken(by: other) }
        didStayAway()
        logger.error(
            "another collector with this id is running with another store, staying disconnected",
            metadata: [
                "id": "\(configuration.id)", "host": "\(other.host.plain)", "store": "\(other.name.plain)",
                "checks_again": "within \(Self.backoff.maximum.components.seconds)s",
                "hint": "stop one of the two, or give each its own --id",
            ])
    }
}
