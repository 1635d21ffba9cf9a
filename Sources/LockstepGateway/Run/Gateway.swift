import Dispatch
import LockstepAgent
import LockstepMQTT
public import LockstepModel
import LockstepWire
public import Logging
public import ServiceLifecycle
import Synchronization

/// A service that translates the messages of foreign devices, keeps them in an outbox, and publishes them as an agent
/// of each device would.
public final class Gateway: Service {
    private let configuration: GatewayConfiguration
    private let logger: Logger
    private let supervisor: Supervisor
    private let wakeup = Wakeup()
    private let inbox: GatewayInbox

    /// Creates a gateway.
    /// - Parameter supervisor: receives the status from the gateway's loop.
    public init(_ configuration: GatewayConfiguration, logger: Logger, supervisor: Supervisor = .disabled) {
        self.configuration = configuration
        self.logger = logger
        self.supervisor = supervisor
        inbox = GatewayInbox(wakeup: wakeup)
    }

    /// Translates a message that did not arrive over MQTT.
    /// - Returns: the outcome, when the samples are in the outbox on disk or the message is refused.
    public func accept(_ message: ForeignMessage) async -> RequestOutcome {
        await withCheckedContinuation { continuation in
            inbox.post(GatewayInbox.Item(content: .message(message)) { continuation.resume(returning: $0) })
        }
    }

    /// Takes in messages that are already translated, and blocks the thread until they are in the outbox on disk.
    ///
    /// Call it from a thread of its own, never from a task.
    /// - Returns: the outcome of each message. After `unavailable`, hand the message over again.
    public func accept(_ messages: [TranslatedMessage]) -> [RequestOutcome] {
        let outcomes = Mutex([RequestOutcome](repeating: .unavailable, count: messages.count))
        let done = DispatchSemaphore(value: 0)
        for (index, message) in messages.enumerated() {
            inbox.post(
                GatewayInbox.Item(content: .translation(message)) { outcome in
                    outcomes.withLock { $0[index] = outcome }
                    done.signal()
                })
        }
        for _ in messages { done.wait() }
        return outcomes.withLock { $0 }
    }

    /// Counts a request that an HTTP server refused because of its login, for the health report.
    public func countRefusedLogin() { inbox.countRefusedLogin() }

    /// Takes over the figures of the host application of Sparkplug, for the health report.
    func report(_ figures: GatewayHealth.Sparkplug) { inbox.sparkplug = figures }

    /// The nodes and devices of Sparkplug that were present when the gateway last ran; nil until the outbox is open.
    var earlierSparkplugSenders: [ForeignName]? { inbox.earlierSparkplugSenders }

    /// Runs until the surrounding task or service group shuts down.
    /// - Throws: `OutboxError` if the outbox cannot be opened.
    public func run() async throws {
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                DispatchQueue(label: "lockstep.gateway").async { [self] in
                    let result = Result {
                        let loop = try GatewayLoop(
                            configuration, inbox: inbox, wakeup: wakeup, logger: logger, supervisor: supervisor)
                        loop.run()
                    }
                    inbox.stop()
                    for item in inbox.drain() { item.reply(.unavailable) }
                    done.resume(with: result)
                }
            }
        } onCancelOrGracefulShutdown: { [inbox] in
            inbox.stop()
        }
    }
}
