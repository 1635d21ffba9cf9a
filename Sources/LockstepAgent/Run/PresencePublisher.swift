import LockstepMQTT
import LockstepModel
import LockstepSensors
import LockstepWire
import Logging

/// What the agent says of itself: its presence, its last will, and the session they belong to.
final class PresencePublisher {
    private(set) var phase = Phase.foreground
    /// Whether there is something to say before the next heartbeat.
    var isDue = false
    /// Samples dropped without ever reaching the outbox.
    var unsavedDropped: Int64 = 0

    private let configuration: AgentConfiguration
    private let outbox: Outbox
    private let logger: Logger
    private var session: Int64 = 0
    private var reason = "start"
    /// What each source has to say, by its name.
    private(set) var sources: [String: String] = [:]
    private var saidAt: Int64 = 0
    private var unconfirmed: Set<Int32> = []

    init(configuration: AgentConfiguration, outbox: Outbox, logger: Logger) {
        self.configuration = configuration
        self.outbox = outbox
        self.logger = logger
    }

    /// Opens a session: its will is what the broker says when the connection is lost.
    func connectionOptions(version: MQTTVersion) -> MQTTOptions {
        let now = Moment.now().wall
        do { session = try outbox.startSession(at: now) } catch {
            session = max(now.microseconds, session + 1)
            logger.error("\(error)")
        }
        let will = Presence(epoch: outbox.epoch, session: session, phase: .lost, at: now, reason: "connection-lost")
        return MQTTOptions(
            address: configuration.broker,
            clientID: "lockstep-agent-\(configuration.address.group)-\(configuration.address.device)",
            keepAlive: configuration.keepAlive, will: message(will), version: version, tls: configuration.tls)
    }

    func didConnect(at moment: Moment, on line: TimeLine, over link: BrokerLink) {
        unconfirmed = []
        publish(at: line.timestamp(boot: moment.boot), boot: moment.boot, over: link)
        if reason == "start" { reason = "reconnect" }
    }

    /// Changes the phase and says so.
    func say(_ phase: Phase, reason: String, at time: Timestamp, over link: BrokerLink) {
        self.phase = phase
        self.reason = reason
        publish(at: time, boot: Moment.now().boot, over: link)
    }

    /// Says again what holds, on each heartbeat and soon after something changed.
    func publishIfDue(at moment: Moment, on line: TimeLine, over link: BrokerLink) {
        let pause = isDue ? 1_000_000 : configuration.heartbeat
        guard link.isUp, moment.boot - saidAt >= pause else { return }
        publish(at: line.timestamp(boot: moment.boot), boot: moment.boot, over: link)
    }

    /// - Returns: whether the source was in another state before.
    func note(_ status: SourceStatus, of source: String) -> Bool {
        let text = status.description
        guard sources[source] != text else { return false }
        let isNews = sources[source].map { $0.prefix(while: \.isLetter) != text.prefix(while: \.isLetter) } ?? true
        sources[source] = text
        isDue = true
        return isNews
    }

    /// Whether the broker has everything that was said.
    var isConfirmed: Bool { unconfirmed.isEmpty }

    func didConfirm(_ id: Int32) { unconfirmed.remove(id) }

    private func publish(at time: Timestamp, boot: Int64, over link: BrokerLink) {
        var dropped = (try? outbox.allDroppedBatches()) ?? [:]
        let ours = dropped.removeValue(forKey: outbox.epoch) ?? SequenceSet()
        let presence = Presence(
            epoch: outbox.epoch, after: outbox.previousEpoch, session: session, phase: phase, at: time, reason: reason,
            dropped: ours.ranges, droppedSamples: outbox.droppedSamples + unsavedDropped,
            sources: sources)
        do {
            guard let id = try link.publish(message(presence)) else { return }
            unconfirmed.insert(id)
            saidAt = boot
            isDue = false
            // Of epochs that are over, beside the retained word: only the collector's books need it.
            for (epoch, batches) in dropped {
                var earlier = presence
                earlier.epoch = epoch
                earlier.after = nil
                earlier.dropped = batches.ranges
                var message = message(earlier)
                message.isRetained = false
                try link.publish(message)
            }
        } catch {
            logger.error("the presence can't be published: \(error)")
        }
    }

    private func message(_ presence: Presence) -> MQTTMessage {
        MQTTMessage(
            topic: configuration.root.topic(configuration.address, .presence), payload: PresenceJSON.encode(presence),
            isRetained: true)
    }
}
