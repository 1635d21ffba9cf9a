import LockstepMQTT
import LockstepModel
import LockstepNotify
import LockstepRules
import LockstepStore
import LockstepWire
import Logging

// Rules: reading them, advancing their time, and sending what they notify.

extension CollectorLoop {
    /// The interval at which rules are checked for conditions that time alone completes, in µs.
    private static let tickInterval: Int64 = 1_000_000

    /// Reads the rules and continues with the notifications of earlier runs.
    func startRules() {
        guard configuration.loadRules != nil else { return }
        let (mailbox, wakeup) = (mailbox, wakeupForRules)
        notifications.notifier = Notifier { update in
            mailbox.withLock { $0.updates.append(update) }
            wakeup.signal()
        }
        loadRules()
    }

    /// Reads the rules. If they have an error, the old ones stay.
    private func loadRules() {
        guard let load = configuration.loadRules else { return }
        notifications.reloadsRules = false
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
            // Without rules, a notification of an earlier run would have no way out, and would be given up.
            if notifications.needsEarlier { notifications.addEarlier(try writer.pendingDeliveries()) }
            notifications.reloadInterval = Notifications.firstReloadInterval
            logger.info("rules loaded", metadata: ["rules": "\(rules.rules.count)"])
        } catch {
            // The file is good: the store may be readable later.
            notifications.reloadsRules = true
            notifications.nextLoad = Moment.now().boot + notifications.reloadInterval
            notifications.reloadInterval = min(2 * notifications.reloadInterval, Notifications.maxReloadInterval)
            logger.error(
                "rules not loaded, because the store cannot be read; they are loaded again soon",
                metadata: ["error": "\(error)"])
        }
    }

    /// Adds to the current group what rules need.
    func advanceRules(isConnected: Bool) {
        // Before the share is taken over, the devices and states in the store are those of another owner.
        guard configuration.loadRules != nil, ownership.mayRead else { return }
        let content = mailbox.take()
        notifications.add(content.updates)
        if content.reloadsRules { notifications.reloadsRules = true }
        // Within a transaction, the states of the rules are not those in the store.
        if notifications.reloadsRules, !machine.hasHandedOver, Moment.now().boot >= notifications.nextLoad {
            loadRules()
        }
        intake.group.deliveries += notifications.takeResults()
        guard isConnected, moment.boot >= notifications.nextTick, let since = notifications.listeningSince else {
            return
        }
        notifications.nextTick = moment.boot + Self.tickInterval
        let tick = IngestGroup.Tick(at: moment, listeningSince: since)
        if writer.isTickDue(tick) { intake.group.tick = tick }
    }

    /// Sends the notifications of a commit.
    func settleRules(_ deliveries: [EventDelivery]) {
        guard configuration.loadRules != nil else { return }
        notifications.didCommit()
        notifications.add(deliveries)
    }

    /// Publishes the notifications that wait for the broker.
    func publishEvents() {
        guard notifications.listeningSince != nil, notifications.hasUnpublished(at: moment.wall) else { return }
        notifications.publish { delivery, isRetained in
            try link.publish(
                MQTTMessage(
                    topic: topic(of: delivery.event.device, .event),
                    payload: EventJSON.encode(delivery.event), qos: .atLeastOnce, isRetained: isRetained))
        }
    }

    /// Publishes that an acknowledgement is stored. A client that misses this repeats its request.
    func confirm(_ stored: StoredAcknowledgement) {
        do {
            let id = try link.publish(
                MQTTMessage(
                    topic: topic(of: stored.key.device, .eventAcknowledged),
                    payload: EventAcknowledgementJSON.encode(stored), qos: .atLeastOnce))
            if let id { handle(.queued(id: id)) }
        } catch {
            logger.error(
                "publishing failed",
                metadata: ["channel": "\(Channel.eventAcknowledged.name)", "error": "\(error)"])
        }
    }

    /// Returns the topic for events of a device, or of this machine.
    private func topic(of device: DeviceAddress?, _ channel: Channel) -> String {
        device.map { configuration.root.topic($0, channel) }
            ?? configuration.root.topic(
                group: configuration.groups.first ?? .standard, collector: configuration.id, channel)
    }
}
