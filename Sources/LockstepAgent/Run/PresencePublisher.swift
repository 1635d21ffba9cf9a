package import LockstepMQTT
package import LockstepModel
package import LockstepWire
import Logging

/// Publishes the agent's presence, and creates the last will of each session. The outbox numbers the sessions.
final class PresencePublisher {
    private let configuration: AgentConfiguration
    private let outbox: Outbox
    private let logger: Logger
    private var session: Int64 = 0

    init(configuration: AgentConfiguration, outbox: Outbox, logger: Logger) {
        self.configuration = configuration
        self.outbox = outbox
        self.logger = logger
    }

    /// Starts a session, and returns the options of its connection with the last will.
    func connectionOptions(version: MQTTVersion) -> MQTTOptions {
        let now = Moment.now().wall
        do { session = try outbox.startSession(at: now) } catch {
            session = max(now.microseconds, session + 1)
            logger.error("cannot write session to outbox", metadata: ["error": "\(error)"])
        }
        let will = Presence(epoch: outbox.epoch, session: session, phase: .lost, at: now, reason: "connection-lost")
        return configuration.broker.options(
            clientID: MQTTOptions.clientID(
                "agent", configuration.address.group.rawValue, configuration.address.device.rawValue),
            version: version,
            will: MQTTMessage(
                topic: configuration.root.topic(configuration.address, .presence), payload: PresenceJSON.encode(will),
                isRetained: true))
    }

    /// Publishes the presence, with the batches that the outbox has dropped.
    /// - Returns: the message id, or nil if the presence could not be published.
    func publish(_ presence: Presence, over link: BrokerLink) -> Int32? {
        var presence = presence
        presence.session = session
        var published: Int32?
        do {
            for message in outbox.devices[0].messages(of: presence, root: configuration.root) {
                guard let id = try link.publish(message) else { break }
                published = published ?? id
            }
        } catch {
            logger.error("cannot publish presence", metadata: ["error": "\(error)"])
        }
        return published
    }
}

extension OutboxDevice {
    /// Returns the messages of a presence: the presence with the batches of the outbox, and reports of those that were
    /// dropped in earlier epochs.
    package func messages(of presence: Presence, root: TopicRoot) -> [MQTTMessage] {
        var (presence, dropped) = (presence, dropped)
        presence.epoch = epoch ?? previousEpoch
        presence.after = epoch == nil ? nil : previousEpoch
        presence.seq = lastSeq
        presence.pending = pending
        presence.dropped = presence.epoch.flatMap { dropped.removeValue(forKey: $0) }?.ranges ?? []
        presence.droppedSamples += droppedSamples
        return ([presence] + presence.reports(ofDropped: dropped)).enumerated().map { number, presence in
            // Those about earlier epochs are not retained, because only a running collector needs them.
            MQTTMessage(
                topic: root.topic(address, .presence), payload: PresenceJSON.encode(presence), isRetained: number == 0)
        }
    }
}

extension Presence {
    /// Returns reports of the batches that were dropped in earlier epochs. They have the problem of this presence, because
    /// readers take it from the last one.
    func reports(ofDropped dropped: [Epoch: SequenceSet]) -> [Presence] {
        dropped.sorted { $0.key < $1.key }.map { epoch, batches in
            var earlier = self
            earlier.epoch = epoch
            earlier.after = nil
            earlier.clock = nil
            earlier.seq = nil
            earlier.pending = pending.filter { $0.key == epoch }
            earlier.dropped = batches.ranges
            return earlier
        }
    }
}
