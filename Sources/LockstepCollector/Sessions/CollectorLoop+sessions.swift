import LockstepMQTT
import LockstepModel
import LockstepWire
import Logging

extension CollectorLoop {
    /// Publishes the states of sessions that have changed, and requests of sessions to agents.
    func publishSessions() {
        guard link.isUp, ownership.mayRead else { return }
        let (commands, states) = intake.sessions.takeMessages()
        for command in commands {
            publish(
                .command, of: command.device, RequestJSON.encode(command.request), qos: .atLeastOnce, isRetained: false)
        }
        for (key, session) in states {
            do {
                let id = try link.publish(
                    MQTTMessage(
                        topic: configuration.root.topic(key), payload: session.map(SessionJSON.encode) ?? [],
                        qos: .atLeastOnce, isRetained: true))
                if let id { handle(.queued(id: id)) }
            } catch {
                logger.error(
                    "publishing failed", metadata: ["topic": "\(configuration.root.topic(key))", "error": "\(error)"])
            }
        }
    }
}
