import LockstepMQTT

extension AgentLoop {
    /// How the agent is, in a line for its supervisor.
    var summary: String {
        (link.isUp ? "connected to \(configuration.broker)" : "no connection to \(configuration.broker)")
            + "; \(delivery.unsentCount) batches of backlog"
    }
}
