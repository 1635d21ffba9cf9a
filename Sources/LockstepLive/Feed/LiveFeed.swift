public import LockstepMQTT
package import LockstepModel
public import LockstepWire
public import Logging
import Synchronization

/// Keeps a ``LivePicture`` up to date from the messages of a broker.
///
/// It subscribes to all topics of the root with QoS 0, and reconnects by itself. One thread reads messages and distributes
/// events.
public final class LiveFeed: Sendable {
    /// The state of the connection.
    public struct Status: Sendable, Hashable {
        /// Whether messages are received.
        public var isConnected = false
        /// The reason why no messages are received, or nil.
        public var problem: String?
        /// The ends of the validity of the certificates, by their use.
        public var certificates: CertificateTimes = [:]

        static let initial = Status(problem: "the connection is not established yet")
    }

    /// The live picture.
    public let picture: LivePicture
    /// Sends requests to agents.
    public let commands: CommandClient
    /// Sends acknowledgements of events to collectors.
    public let acknowledgements: AcknowledgementClient

    private let configuration: FeedConfiguration
    private let logger: Logger
    private let currentStatus = Mutex(Status.initial)
    private let thread = LoopThread("lockstep.live")

    /// Creates a feed. It connects when ``run()`` is called.
    public init(_ configuration: FeedConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        picture = LivePicture(root: configuration.root, limits: configuration.limits)
        commands = CommandClient(limit: configuration.limits.requests, wakeup: thread.wakeup)
        acknowledgements = AcknowledgementClient(
            root: configuration.root, limit: configuration.limits.requests, wakeup: thread.wakeup)
    }

    /// The address of the broker.
    public var broker: BrokerAddress { configuration.broker }
    /// The state of the connection.
    public var status: Status { currentStatus.withLock { $0 } }

    /// Receives messages until the task is cancelled or ``stop()`` is called. All subscriptions end then. Call it once.
    public func run() async {
        await withTaskCancellationHandler {
            await thread.run { [self] in loop() }
        } onCancel: {
            stop()
        }
    }

    /// Lets ``run()`` return.
    public func stop() { thread.stop() }

    /// Lets the collectors forget a device, as `lockstep forget` does, over a connection of its own. It waits up to half a
    /// minute, and may be called from a thread that may wait.
    /// - Returns: what was done, for people.
    /// - Throws: ``ForgetError``.
    package func forget(_ device: DeviceAddress) throws -> String {
        let link = configuration.link(
            wakeup: Wakeup(), clientID: MQTTOptions.clientID("forget", Epoch.random().rawValue))
        return try ForgetSession(
            link: link, broker: configuration.broker, task: DeviceRemoval(device, root: configuration.root)
        ).run()
    }

    private func loop() {
        let loop = FeedLoop(
            configuration, wakeup: thread.wakeup, picture: picture, commands: commands,
            acknowledgements: acknowledgements,
            logger: logger
        ) { status in self.currentStatus.withLock { $0 = status } }
        while !thread.isStopping { loop.turn() }
        loop.stop()
        picture.close("the server is stopping")
        commands.close()
        acknowledgements.close()
    }
}
