import LockstepClickHouse
import LockstepHTTP
import LockstepLive
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire
import Logging

/// The parts of a running server, and its routes.
struct ServerParts: Sendable {
    let configuration: ServeConfiguration
    let logger: Logger
    let store: StorePool
    let feed: LiveFeed
    let connections: OpenConnections
    let streams = EventStreamCounters()
    let knownStreams: KnownStreams
    /// The memory for answers to all clients.
    let budget: MemoryBudget
    let refusedLogins: RefusedLogins
    private let policy: AccessPolicy

    init(_ configuration: ServeConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        budget = MemoryBudget(maximum: configuration.limits.unsentBytes)
        refusedLogins = RefusedLogins(logger: logger)
        policy = AccessPolicy(
            tokens: configuration.tokens, isReadOnly: configuration.isReadOnly, usesTLS: configuration.tls != nil)
        store = StorePool(
            configuration.store, threads: configuration.limits.storeThreads,
            maxWaiting: configuration.limits.waitingReads)
        var feedConfiguration = FeedConfiguration(
            broker: configuration.broker, clientID: MQTTOptions.clientID("serve", Epoch.random().rawValue),
            root: configuration.root)
        feedConfiguration.tls = configuration.brokerTLS
        feedConfiguration.serverCertificateFile = configuration.tls?.certificateFile
        feedConfiguration.mqttVersion = configuration.mqttVersion
        feedConfiguration.keepAlive = configuration.keepAlive
        feedConfiguration.limits.subscribers = configuration.limits.eventStreams
        feedConfiguration.limits.maxFuture = configuration.maxFuture
        feed = LiveFeed(feedConfiguration, logger: logger)
        knownStreams = KnownStreams(configuration.root.streams, picture: feed.picture)
        // A file answers at once, unlike a server. The seeder reports failures, and asks again.
        if case .sqlite(let path)? = configuration.store, let stored = try? StoreReader(path: path).catalog() {
            knownStreams.use(stored: stored)
        }
        connections = OpenConnections(configuration.limits.http)
    }

    /// Adds what the store knows to the live picture.
    var seeder: StoreSeeder {
        StoreSeeder(store: store, picture: feed.picture, knownStreams: knownStreams, logger: logger)
    }

    /// The state of broker and store.
    var status: SystemStatus {
        let broker = feed.status
        return SystemStatus(
            isBrokerConnected: broker.isConnected, brokerProblem: broker.problem, storeProblem: store.problem,
            isStoreKnown: store.statistics.reads > 0, hasStore: configuration.store != nil)
    }

    /// Ends event streams and reads of the store, and refuses further ones.
    func stop() {
        feed.stop()
        store.stop()
    }

    /// Returns the responder with all routes.
    func responder() -> ServeResponder {
        ServeResponder(
            routes: routes(), policy: policy, securityHeaders: SecurityHeaders(tiles: configuration.tiles),
            limits: configuration.limits, refusedLogins: refusedLogins, budget: budget, logger: logger)
    }

    /// Returns all routes.
    func routes() -> RouteTable<APIHandler> {
        var routes = RouteTable<APIHandler>()
        let session = SessionRoutes(policy: policy, refusedLogins: refusedLogins, version: configuration.version)
        session.add(to: &routes)
        HealthRoutes(
            configuration: configuration, status: { status }, collectors: { feed.picture.collectorsJSON }
        ).add(to: &routes)
        MetricsRoute(
            configuration: configuration, feed: feed, store: store, connections: connections, streams: streams,
            budget: budget, refusedLogins: refusedLogins
        ).add(to: &routes)
        let live = LiveRoutes(
            picture: feed.picture, knownStreams: knownStreams, streams: streams,
            addresses: AddressCounter(maximum: configuration.limits.eventStreamsOfAddress))
        live.add(to: &routes)
        EventRoutes(feed: feed, store: store, live: live, logger: logger).add(to: &routes)
        let history = HistoryRoutes(store: store, picture: feed.picture, knownStreams: knownStreams)
        DeviceHistoryRoutes(history: history).add(to: &routes)
        history.add(to: &routes)
        RehearsalRoute(store: store).add(to: &routes)
        DeletionRoutes(feed: feed, history: history, root: configuration.root, logger: logger).add(to: &routes)
        CommandRoutes(feed: feed, knownStreams: knownStreams, logger: logger).add(to: &routes)
        CalibrationRoute(feed: feed, live: live, logger: logger).add(to: &routes)
        ForgetRoute(feed: feed, logger: logger).add(to: &routes)
        RecordingRoutes(
            feed: feed, store: store, knownStreams: knownStreams, root: configuration.root,
            creator: "lockstep \(configuration.version)", logger: logger
        ).add(to: &routes)
        StaticFiles(
            page: configuration.pageFolder, leaflet: configuration.leafletFolder,
            documents: { rights in
                [("session", session.json(rights))]
                    + (rights.allows(.read) ? [("devices", feed.picture.devicesJSON(group: nil))] : [])
            }
        ).add(to: &routes)
        return routes
    }
}
