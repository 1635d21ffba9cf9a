import Dispatch
import LockstepMQTT
public import LockstepModel
import LockstepSensors
public import LockstepSupervision
public import Logging
public import ServiceLifecycle

/// An agent: reads its sources, keeps every batch in its outbox until it is known to be stored, and publishes.
///
/// ``run()`` ends when the surrounding task or service group shuts down, or when all sources have ended and everything
/// they gave is acknowledged.
public final class Agent: Service {
    private let configuration: AgentConfiguration
    private let logger: Logger
    private let supervisor: Supervisor
    private let wakeup = Wakeup()
    private let inbox: Inbox

    /// - Parameter supervisor: is told how the agent is, from its loop.
    public init(_ configuration: AgentConfiguration, logger: Logger, supervisor: Supervisor = .disabled) {
        self.configuration = configuration
        self.logger = logger
        self.supervisor = supervisor
        inbox = Inbox(wakeup: wakeup)
    }

    /// Changes what the agent does, and what it says of itself: `foreground`, `inactive` or `background`.
    public func setPhase(_ phase: Phase, reason: String) { inbox.post(.phase(phase, reason: reason)) }

    /// Runs to the end.
    /// - Throws: ``OutboxError`` if the outbox can't be opened; the error of a source that could not go on, after
    ///   the samples of the others have been delivered.
    public func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for source in configuration.sources {
                group.addTask { [inbox] in
                    do {
                        try await source.run(into: inbox)
                        inbox.post(.sourceEnded(source: source.name, nil))
                    } catch is CancellationError {
                        // The agent ends; nobody waits for the source's word.
                    } catch {
                        inbox.post(.sourceEnded(source: source.name, error))
                    }
                }
            }
            defer {
                // Without a loop nobody takes samples: a source that waits for room would wait for ever.
                _ = inbox.close()
                group.cancelAll()
            }
            try await withTaskCancellationOrGracefulShutdownHandler {
                try await runLoop()
            } onCancelOrGracefulShutdown: { [inbox] in
                inbox.post(.stop)
            }
        }
    }

    /// Runs the loop, which blocks, on a thread of its own.
    private func runLoop() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            DispatchQueue(label: "lockstep.agent").async { [self] in
                continuation.resume(
                    with: Result {
                        let loop = try AgentLoop(
                            configuration, inbox: inbox, wakeup: wakeup, logger: logger, supervisor: supervisor)
                        try loop.run()
                    })
            }
        }
    }
}
