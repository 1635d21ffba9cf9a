import LockstepAgent
import LockstepModel
import ServiceLifecycle
import UnixSignals

/// SIGUSR1 sends the agent to background, SIGUSR2 brings it back.
struct PhaseSignals: Service {
    private let agent: Agent
    private let signals: UnixSignalsSequence

    /// Traps the signals: untrapped they end the process, so this comes before the agent runs.
    init(agent: Agent) async {
        self.agent = agent
        signals = await UnixSignalsSequence(trapping: .sigusr1, .sigusr2)
    }

    func run() async throws {
        for await signal in signals.cancelOnGracefulShutdown() {
            agent.setPhase(signal == .sigusr1 ? .background : .foreground, reason: "signal")
        }
    }
}
