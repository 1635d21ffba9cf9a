import Dispatch
public import LockstepMQTT
public import LockstepModel
public import LockstepSensors
public import LockstepWire
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

/// The configuration of an agent.
public struct AgentConfiguration: Sendable {
    /// The program whose acknowledgement removes a batch from the outbox.
    public enum AcknowledgedBy: String, Sendable, CaseIterable {
        /// The collector, after its commit: no sample is lost.
        case collector
        /// The broker: for a system without a collector.
        case broker
    }

    /// The group and the id of the device.
    public var address: DeviceAddress
    /// The broker to publish to.
    public var broker: BrokerAccess
    /// The prefix of all topics.
    public var root = TopicRoot.standard
    /// The sources of samples.
    public var sources: [any SensorSource]
    /// The rates at which streams are published.
    public var rates = PublishingRates()
    /// The options of derived streams.
    public var derived = DerivedOptions()
    /// The path of the outbox file.
    public var outboxPath: String
    /// The limits above which the outbox drops its oldest batches.
    public var outboxLimits = Outbox.Limits()
    /// Whether the outbox keeps every accepted batch in its journal.
    public var keepsJournal = false
    /// The encoding of new batches. Batches in the outbox keep theirs.
    public var encoding = BatchEncoding.json
    /// The limits of windows and batches.
    public var coalescing = Coalescer.Limits()
    /// The program whose acknowledgement removes a batch from the outbox.
    public var acknowledgedBy = AcknowledgedBy.collector
    /// The maximum rate of backlog in bytes a second, in addition to live data.
    public var backlogRate = 262_144
    /// The interval between presence messages while nothing changes, in µs.
    public var heartbeat: Int64 = 30_000_000
    /// Whether the agent compares its clock with those of the collectors.
    public var comparesClock = true

    /// Creates a configuration with default values.
    public init(
        address: DeviceAddress, broker: BrokerAddress, sources: [any SensorSource], outboxPath: String
    ) {
        self.address = address
        self.broker = BrokerAccess(broker)
        self.sources = sources
        self.outboxPath = outboxPath
    }
}
