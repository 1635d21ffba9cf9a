import LockstepAgent
import LockstepModel
import ServiceLifecycle
import UnixSignals

/// Sets the phase on signals: SIGUSR1 for background, SIGUSR2 for foreground.
struct PhaseSignals: Service {
    private let agent: Agent
    private let signals: UnixSignalsSequence

    /// Traps the signals. Call it before the agent runs: an untrapped signal ends the process.
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
