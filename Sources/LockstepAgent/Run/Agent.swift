import Dispatch
import LockstepMQTT
public import LockstepModel
import LockstepSensors
public import Logging
public import ServiceLifecycle

/// A service that reads sensors, keeps every batch in an outbox until it is acknowledged, and publishes it over MQTT.
///
/// ``run()`` returns when its task is cancelled, when its service group shuts down, or when all sources have ended and
/// all their samples are acknowledged.
public final class Agent: Service {
    private let configuration: AgentConfiguration
    private let logger: Logger
    private let supervisor: Supervisor
    private let wakeup = Wakeup()
    private let inbox: Inbox

    /// Creates an agent.
    /// - Parameter supervisor: receives the status of the agent from its loop.
    public init(_ configuration: AgentConfiguration, logger: Logger, supervisor: Supervisor = .disabled) {
        self.configuration = configuration
        self.logger = logger
        self.supervisor = supervisor
        inbox = Inbox(wakeup: wakeup)
    }

    /// Sets the phase, which determines the rates and is published: `foreground`, `inactive` or `background`.
    /// - Parameter reason: a short text that is published with the phase, such as `signal`.
    public func setPhase(_ phase: Phase, reason: String) { inbox.post(.phase(phase, reason: reason)) }

    /// Runs the agent.
    /// - Throws: ``OutboxError`` if the outbox cannot be opened, or the error of a failed source, after the samples of
    ///   the other sources have been delivered.
    public func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for source in configuration.sources {
                group.addTask { [inbox] in
                    do {
                        try await source.run(into: inbox)
                        inbox.post(.sourceEnded(source: source.name, nil))
                    } catch is CancellationError {
                        // The agent ends, so the end of the source needs no report.
                    } catch {
                        inbox.post(.sourceEnded(source: source.name, error))
                    }
                }
            }
            defer {
                // Without a loop, a source that waits for space in the inbox would wait forever.
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

    /// Runs the blocking loop on its own thread.
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
