public import LockstepMQTT
public import LockstepModel
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
    /// Sends requests to agents and collectors.
    public let requests: RequestClient

    private let configuration: FeedConfiguration
    private let logger: Logger
    private let currentStatus = Mutex(Status.initial)
    private let thread = LoopThread("lockstep.live")

    /// Creates a feed. It connects when ``run()`` is called.
    public init(_ configuration: FeedConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        picture = LivePicture(root: configuration.root, limits: configuration.limits)
        requests = RequestClient(
            root: configuration.root, limit: configuration.limits.requests, wakeup: thread.wakeup)
    }

    /// The address of the broker.
    public var broker: BrokerAddress { configuration.broker }
    /// The topic prefix.
    var root: TopicRoot { configuration.root }
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
    /// - Throws: `ExchangeError`.
    package func forget(_ device: DeviceAddress) throws -> String {
        let link = configuration.link(
            wakeup: Wakeup(), clientID: MQTTOptions.clientID("forget", Epoch.random().rawValue))
        return try ForgetSession(
            link: link, broker: configuration.broker, task: DeviceRemoval(device, root: configuration.root)
        ).run()
    }

    private func loop() {
        let loop = FeedLoop(
            configuration, wakeup: thread.wakeup, picture: picture, requests: requests, logger: logger
        ) { status in self.currentStatus.withLock { $0 = status } }
        while !thread.isStopping { loop.turn() }
        loop.stop()
        picture.close("the server is stopping")
        requests.close()
    }
}

/// The configuration of a ``LiveFeed``.
public struct FeedConfiguration: Sendable {
    /// The address of the broker.
    public var broker: BrokerAddress
    /// The TLS files.
    public var tls = TLSOptions()
    /// The file of the certificate of the program's own server, which is watched as well; nil if there is none.
    public var serverCertificateFile: String?
    /// The MQTT version; nil for 5, or 3.1.1 if the broker does not support 5.
    public var mqttVersion: MQTTVersion?
    /// The MQTT keep-alive interval, in s.
    public var keepAlive = 15
    /// The client id, which must be unique at the broker.
    public var clientID: String
    /// The topic prefix; its `streams` are the streams that are known.
    public var root: TopicRoot
    /// The limits of the live picture.
    public var limits = LiveLimits()
    /// The delays between attempts to connect. People watch the live picture, so they are short.
    public var backoff = Backoff(maximum: .seconds(5))

    /// Creates a configuration with default options.
    /// - Parameter clientID: the client id, which must be unique at the broker.
    public init(broker: BrokerAddress, clientID: String, root: TopicRoot = .standard) {
        self.broker = broker
        self.clientID = clientID
        self.root = root
    }

    func link(wakeup: Wakeup, clientID: String) -> BrokerLink {
        BrokerLink(wakeup: wakeup, version: mqttVersion, backoff: backoff) { [self] in
            MQTTOptions(
                address: broker, clientID: clientID, keepAlive: keepAlive, version: $0, tls: tls)
        }
    }
}
