import LockstepAgent
import LockstepMQTT
import LockstepModel
import LockstepWire
import Logging

/// Presences, and the silence of senders.
extension GatewayLoop {
    /// The interval between two checks for silent senders, in µs.
    private static let silenceInterval: Int64 = 1_000_000

    struct PresenceChanges {
        /// What the outbox must keep, by the index of the device.
        var records: [Int: OutboxPresence] = [:]
        /// The devices whose presence must be published.
        var toPublish: Set<Int> = []
        /// Whether they must be written with this turn. PUBACKs can wait.
        var isUrgent = false
    }

    /// Returns what this turn changes: by the messages of senders, by their silence, and by PUBACKs.
    func presenceChanges(of contacts: [Int: SenderContact], at moment: Moment) -> PresenceChanges {
        var changes = PresenceChanges()
        for index in published {
            changes.records[index] = outbox.senders[index].presence
            changes.records[index]?.isPublished = true
        }
        for (index, contact) in contacts {
            let isFirst = devices.indices.contains(index) ? !devices[index].isHeard : true
            guard
                let (record, mustPublish) = contact.change(
                    of: changes.records[index] ?? outbox.senders[index].presence, isFirst: isFirst, at: moment.wall)
            else { continue }
            changes.records[index] = record
            changes.isUrgent = true
            if mustPublish { changes.toPublish.insert(index) }
        }
        for index in silentDevices(at: moment.boot) where contacts[index] == nil {
            guard var record = changes.records[index] ?? outbox.senders[index].presence else { continue }
            record.phase = .lost
            record.reason = "silent"
            record.at = moment.wall
            record.isPublished = false
            changes.records[index] = record
            changes.isUrgent = true
            changes.toPublish.insert(index)
        }
        return changes
    }

    /// Returns the devices whose senders have been silent for too long. Without a connection nothing is decided, because
    /// the gateway cannot hear them.
    private func silentDevices(at boot: Int64) -> [Int] {
        listening.check(at: boot)
        guard link.isUp, boot >= nextSilenceCheck else { return [] }
        nextSilenceCheck = boot + Self.silenceInterval
        let now = listening.time(at: boot)
        return devices.indices.filter { index in
            guard let presence = outbox.senders[index].presence,
                let limits = configuration.silence[presence.format]
            else { return false }
            return limits.isExceeded(
                in: presence.phase, lastMessage: devices[index].heardAt, start: startedAt,
                listening: listening.since, at: now)
        }
    }

    /// Takes over the changes when they are on disk.
    func didSave(_ changes: PresenceChanges, _ contacts: [Int: SenderContact], at boot: Int64) {
        published.removeAll()
        didHear(contacts, at: boot)
        for index in changes.toPublish {
            devices[index].needsPresence = true
            guard changes.records[index]?.reason == "silent", changes.records[index]?.phase == .lost else { continue }
            logger.info("device is silent", metadata: ["device": "\(outbox.devices[index].address)"])
        }
    }

    func didHear(_ contacts: [Int: SenderContact], at boot: Int64) {
        for (index, contact) in contacts {
            devices[index].heardAt = listening.time(at: boot)
            if contact.presence != nil { devices[index].isHeard = true }
        }
    }

    /// Publishes the presences of this turn: those of active devices before their samples, the others after them.
    func publish(_ changes: PresenceChanges, isForeground: Bool, at time: Timestamp) {
        for index in changes.toPublish where (changes.records[index]?.phase == .foreground) == isForeground {
            publishPresence(of: index, at: time)
        }
    }

    func publishPresences(at now: Timestamp) {
        for index in devices.indices { publishPresence(of: index, at: now) }
    }

    private func publishPresence(of index: Int, at now: Timestamp) {
        guard devices[index].needsPresence, link.isUp else { return }
        let device = outbox.devices[index]
        let sender = outbox.senders[index]
        // A device whose sender never told its phase may have dropped batches.
        let presence = Presence(
            epoch: nil, session: session, phase: sender.presence?.phase ?? .background, at: sender.presence?.at ?? now,
            reason: sender.presence?.reason ?? "gateway-start", sources: [sender.name: "running"],
            problem: devices[index].problem)
        do {
            for (number, message) in device.messages(of: presence, root: configuration.root).enumerated() {
                guard let id = try link.publish(message) else { return }
                if number == 0, let presence = sender.presence { presencesInFlight[id] = (index, presence) }
            }
            devices[index].needsPresence = false
        } catch {
            logger.error(
                "cannot publish presence",
                metadata: ["device": "\(outbox.devices[index].address)", "error": "\(error)"])
        }
    }

    /// Records the PUBACK of a presence. It is saved with the next removal of batches.
    /// - Returns: whether the message was a presence.
    func didPublishPresence(_ id: Int32, refusal: MQTTError?, at boot: Int64) -> Bool {
        guard let (index, presence) = presencesInFlight.removeValue(forKey: id) else { return false }
        if let refusal {
            logger.error(
                "presence refused by broker",
                metadata: ["device": "\(outbox.devices[index].address)", "error": "\(refusal)"])
        } else if let current = outbox.senders[index].presence, !current.isPublished,
            current.phase == presence.phase, current.at == presence.at
        {
            published.insert(index)
            delivery.requestCommit(at: boot)
        }
        return true
    }
}

/// What the gateway's loop knows of a device besides its batches.
struct GatewayDevice {
    let ackTopic: String
    /// The time of the last message of its sender, by ``ListeningTime``. It may be before the start.
    var heardAt: Int64
    /// Whether its sender has told its phase since the start.
    var isHeard = false
    var needsPresence = false
    /// What a person has to solve, as the last presence says.
    var problem: String?
}

/// The health report of the gateway.
extension GatewayLoop {
    /// The interval between two reports, in µs.
    private static let healthInterval: Int64 = 10_000_000

    /// Returns the last will: the broker publishes it when the connection is lost.
    static func will(_ configuration: GatewayConfiguration) -> MQTTMessage {
        message(GatewayHealth(status: .offline, at: Moment.now().wall), configuration)
    }

    private static func message(_ health: GatewayHealth, _ configuration: GatewayConfiguration) -> MQTTMessage {
        let topic = configuration.root.topic(
            group: configuration.mapping.group, gateway: DeviceID(unchecked: configuration.id))
        return MQTTMessage(topic: topic, payload: health.encoded(), isRetained: true)
    }

    /// Publishes a report if one is due.
    func reportHealth() {
        let boot = Moment.now().boot
        guard link.isUp, boot >= nextHealth else { return }
        nextHealth = boot + Self.healthInterval
        publishHealth(outboxProblem == nil ? .online : .stalled)
    }

    func publishHealth(_ status: GatewayHealth.Status) {
        guard link.isUp else { return }
        logger.report(certificates.update(broker: link.certificateExpiry, at: Moment.now().wall.microseconds))
        let times = certificates.times
        let dropped = outbox.devices.indices.reduce(Int64(0)) { $0 + outbox.devices[$1].droppedSamples }
        let health = GatewayHealth(
            status: status, at: Moment.now().wall, problem: outboxProblem ?? delivery.unreadable,
            devices: outbox.devices.count,
            accepted: Int(accepted), refused: Int(refused), leftOut: Int(leftOut), refusedLogins: inbox.refusedLogins,
            outboxBytes: Int(outbox.batches.bytes), dropped: Int(dropped),
            version: configuration.version, started: started, memory: ProcessMemory.now()?.current,
            sparkplug: inbox.sparkplug,
            certificates: times.isEmpty ? nil : times)
        do { _ = try link.publish(Self.message(health, configuration)) } catch {
            logger.error("cannot publish health", metadata: ["error": "\(error)"])
        }
    }
}
