import HTTPTypes
import Hummingbird
import LockstepHTTP
import LockstepLive
import LockstepModel
import NIOCore

/// The metrics of the whole system for Prometheus.
struct MetricsRoute {
    let configuration: ServeConfiguration
    let feed: LiveFeed
    let store: StorePool
    let connections: OpenConnections
    let streams: EventStreamCounters
    let budget: MemoryBudget
    let refusedLogins: RefusedLogins

    func add(to routes: inout RouteTable<APIHandler>) {
        let text = MetricsText(deviceLimit: configuration.metricsDevices)
        routes.add(Route("GET", "/metrics", right: .read)) { _ in
            let metrics = text.render(feed.picture.read { copy $0 }, figures, at: .now())
            return Response(
                status: .ok, headers: [.contentType: MetricsText.contentType],
                body: .init(byteBuffer: ByteBuffer(string: metrics)))
        }
    }

    private var figures: ServerFigures {
        ServerFigures(
            version: configuration.version, isBrokerConnected: feed.status.isConnected,
            isStoreReadable: store.problem == nil, certificates: feed.status.certificates,
            connections: connections.counter.count, refusedConnections: connections.refused,
            refusedLogins: refusedLogins.total, unsentBytes: budget.reserved,
            subscribers: [
                "fleet": streams.fleet.count, "states": streams.states.count, "live": streams.live.count,
                "events": streams.events.count, "calibrations": streams.calibrations.count,
            ],
            droppedSamples: Int(feed.picture.statistics.droppedSamples), queries: store.statistics, usage: .now())
    }
}
