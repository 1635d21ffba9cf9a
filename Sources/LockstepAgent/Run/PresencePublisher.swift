import LockstepMQTT
package import LockstepModel
import LockstepWire
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
            version: version, will: message(will))
    }

    /// Publishes the presence, with the batches that the outbox has dropped.
    /// - Returns: the message id, or nil if the presence could not be published.
    func publish(_ report: PresenceReport, over link: BrokerLink) -> Int32? {
        var dropped = outbox.dropped
        let current = dropped.removeValue(forKey: outbox.epoch) ?? SequenceSet()
        let presence = Presence(
            epoch: outbox.epoch, after: outbox.previousEpoch, session: session, phase: report.phase, at: report.time,
            reason: report.reason, seq: outbox.lastSeq, pending: outbox.pending, dropped: current.ranges,
            droppedSamples: outbox.droppedSamples + report.unsavedDropped, sources: report.sources,
            problem: report.problem, clock: report.clock, certificates: report.certificates)
        var published: Int32?
        do {
            guard let id = try link.publish(message(presence)) else { return nil }
            published = id
            // Messages about earlier epochs are not retained, because only a running collector needs them.
            for earlier in presence.reports(ofDropped: dropped) {
                var message = message(earlier)
                message.isRetained = false
                try link.publish(message)
            }
        } catch {
            logger.error("cannot publish presence", metadata: ["error": "\(error)"])
        }
        return published
    }

    private func message(_ presence: Presence) -> MQTTMessage {
        MQTTMessage(
            topic: configuration.root.topic(configuration.address, .presence), payload: PresenceJSON.encode(presence),
            isRetained: true)
    }
}

extension Presence {
    /// Returns reports of the batches that were dropped in earlier epochs. They have the problem of this presence, because
    /// readers take it from the last one.
    package func reports(ofDropped dropped: [Epoch: SequenceSet]) -> [Presence] {
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
