import Dispatch
public import LockstepAgent
public import LockstepMQTT
public import LockstepModel
public import LockstepWire
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

/// The configuration of a gateway.
public struct GatewayConfiguration: Sendable {
    /// The id, under which the broker keeps the session.
    public var id = "main"
    /// The version of the program, for its health report; nil if unknown.
    public var version: String?
    /// The broker of the foreign messages and of Lockstep's own.
    public var broker: BrokerAccess
    /// The file of the certificate of the gateway's own server, whose end of validity the health report names; nil if there
    /// is none.
    public var serverCertificateFile: String?
    /// The prefix of Lockstep's topics, and the streams that are published.
    public var root = TopicRoot.standard
    /// The formats to translate.
    public var adapters: [any GatewayAdapter]
    /// The addresses of senders.
    public var mapping = DeviceMapping()
    /// The path of the outbox file.
    public var outboxPath: String
    /// The size of all batches in the outbox above which the oldest ones are dropped, in bytes.
    public var outboxSize: Int64 = 256 << 20
    /// The encoding of new batches.
    public var encoding = BatchEncoding.json
    /// The maximum size of a foreign message in bytes.
    public var maxPayload = 1 << 20
    /// The maximum number of devices; messages of further ones are refused.
    public var maxDevices = 10_000
    /// The maximum number of devices that a user of the HTTP server can create; requests for further ones are refused.
    public var maxUserDevices = 100
    /// The maximum time that a sample may be in the future, in µs. It is half of a collector's default, so that small
    /// differences of the clocks do not matter.
    public var maxFuture: Int64 = 43_200_000_000
    /// The age of a message above which its samples are published as late, in µs.
    public var lateAfter: Int64 = 60_000_000
    /// Whether OwnTracks devices of a group get each other's positions and cards in answers to their HTTP requests.
    public var sharesFriends = false
    /// The limits of silence, by the name of the format.
    public var silence: [String: SilenceLimits]
    /// The limits of batches.
    public var batches = Coalescer.Limits()
    /// The maximum rate of backlog of each device in bytes a second, in addition to live data.
    public var backlogRate = 262_144

    /// Creates a configuration with default values.
    public init(broker: BrokerAddress, adapters: [any GatewayAdapter], outboxPath: String) {
        self.broker = BrokerAccess(broker)
        self.adapters = adapters
        silence = SilenceLimits.standard(adapters)
        self.outboxPath = outboxPath
    }
}
