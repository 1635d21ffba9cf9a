import LockstepMQTT
import LockstepModel
import LockstepRules
import LockstepStore
import Logging

/// The rules of a collector: reads them, advances their time, and sends what they notify. The collector's loop owns it.
final class CollectorRules {
    /// The interval at which rules are checked for conditions that time alone completes, in µs.
    private static let tickInterval: Int64 = 1_000_000
    /// The time after which the rules are read again if the store could not be read, in µs. It doubles each time.
    private static let reloadIntervals: ClosedRange<Int64> = 1_000_000...60_000_000

    private let configuration: CollectorConfiguration
    private let writer: StoreWriter
    private let mailbox: RuleMailbox
    private let wakeup: Wakeup
    private let logger: Logger
    private var notifications = Notifications()
    private(set) var reported = ReportedRules()
    /// Whether the rules have to be read again after the current transaction.
    private var mustReload = false
    /// The earliest time at which the rules are read again, in µs of the boot clock.
    private var nextLoad: Int64 = 0
    private var reloadInterval = reloadIntervals.lowerBound
    /// The time of the next check whether rules need a tick, in µs of the boot clock.
    private var nextTick: Int64 = 0

    init(
        _ configuration: CollectorConfiguration, writer: StoreWriter, mailbox: RuleMailbox, wakeup: Wakeup,
        logger: Logger
    ) {
        self.configuration = configuration
        self.writer = writer
        self.mailbox = mailbox
        self.wakeup = wakeup
        self.logger = logger
    }

    /// Reads the rules and continues with the notifications of earlier runs.
    func start() {
        guard let load = configuration.loadRules else { return }
        notifications.notifier = Notifier { [mailbox, wakeup] update in
            mailbox.withLock { $0.updates.append(update) }
            wakeup.signal()
        }
        self.load(load)
    }

    /// Sends nothing any more.
    func stop() { notifications.notifier?.stop() }

    /// Reads the rules. If they have an error, the old ones stay.
    private func load(_ load: () throws -> RuleSet) {
        mustReload = false
        let rules: RuleSet
        do { rules = try load() } catch {
            logger.error(
                notifications.hasRules ? "rules not loaded, the old rules stay" : "rules not loaded, there are none",
                metadata: ["error": "\(error)", "hint": "correct the file and send SIGHUP"])
            return
        }
        do {
            // First, so that no sample is stored without being evaluated.
            try writer.setRules(rules, folder: configuration.storeFolder) { [scope = configuration.scope] in
                scope.contains($0)
            }
            notifications.setRules(rules)
            reported = ReportedRules(rules)
            // Without rules, a notification of an earlier run would have no way out, and would be given up.
            if notifications.needsEarlier { notifications.addEarlier(try writer.pendingDeliveries()) }
            reloadInterval = Self.reloadIntervals.lowerBound
            logger.info("rules loaded", metadata: ["rules": "\(rules.rules.count)"])
        } catch {
            // The file is good: the store may be readable later.
            mustReload = true
            nextLoad = Moment.now().boot + reloadInterval
            reloadInterval = min(2 * reloadInterval, Self.reloadIntervals.upperBound)
            logger.error(
                "rules not loaded, because the store cannot be read; they are loaded again soon",
                metadata: ["error": "\(error)"])
        }
    }

    /// Adds to a group what rules need.
    /// - Parameter isInTransaction: whether the states of the rules are not those in the store.
    func advance(_ group: inout IngestGroup, isConnected: Bool, isInTransaction: Bool, at moment: Moment) {
        guard let load = configuration.loadRules else { return }
        let content = mailbox.take()
        notifications.add(content.updates)
        if content.reloadsRules { mustReload = true }
        if mustReload, !isInTransaction, Moment.now().boot >= nextLoad { self.load(load) }
        group.deliveries += notifications.takeResults()
        guard isConnected, moment.boot >= nextTick, let since = notifications.listeningSince else { return }
        nextTick = moment.boot + Self.tickInterval
        let tick = IngestGroup.Tick(at: moment, listeningSince: since)
        if writer.isTickDue(tick) { group.tick = tick }
    }

    /// Carries out what rules ask for sessions, as part of the current transaction.
    /// - Parameter perform: throws the reason why an action cannot be carried out.
    /// - Returns: the results, to write in the same transaction.
    func record(
        at now: Timestamp, _ perform: (RecordAction, StoredEvent) throws -> Void
    ) -> [DeliveryUpdate] {
        notifications.takeRecords().map { action, delivery in
            do {
                try perform(action, delivery.event)
                return DeliveryUpdate(of: delivery, state: .sent, attempts: delivery.attempts, due: now, error: nil)
            } catch { return RetrySchedule.failure(delivery, "\(error)", isFinal: true, at: now) }
        }
    }

    /// Sends the notifications of a commit.
    func settle(_ deliveries: [EventDelivery]) {
        guard configuration.loadRules != nil else { return }
        notifications.didCommit()
        notifications.add(deliveries)
    }

    /// A commit has failed.
    func rollBack() { notifications.rollBack() }

    /// Publishes the notifications that wait for the broker.
    func publish(at now: Timestamp, _ publish: (EventDelivery, _ isRetained: Bool) throws -> Int32?) {
        guard notifications.listeningSince != nil, notifications.hasUnpublished(at: now) else { return }
        notifications.publish(publish)
    }

    func didConnect(at boot: Int64) { notifications.didConnect(at: boot) }

    func didDisconnect() { notifications.didDisconnect() }

    func didPublish(id: Int32, refusal: MQTTError?) {
        notifications.didPublish(id: id, refusal: refusal.map { "\($0)" })
    }
}
