import LockstepAgent
import LockstepModel
import ServiceLifecycle
import UnixSignals

/// SIGUSR1 sends the agent to background, SIGUSR2 brings it back.
struct PhaseSignals: Service {
    let agent: Agent

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sigusr1, .sigusr2)
        for await signal in signals.cancelOnGracefulShutdown() {
            agent.setPhase(signal == .sigusr1 ? .background : .foreground, reason: "signal")
        }
    }
}
