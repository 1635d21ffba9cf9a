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
            Response(
                status: .ok, headers: [.contentType: MetricsText.contentType],
                body: .init(byteBuffer: ByteBuffer(string: text.render(snapshot(at: .now())))))
        }
    }

    private func snapshot(at moment: Moment) -> MetricsSnapshot {
        let live = feed.picture.read { copy $0 }
        let devices = live.devices.map { device in
            var metrics = MetricsSnapshot.Device(address: device.address)
            metrics.state = device.transition?.to
            metrics.since = device.transition?.since
            metrics.lastSample = device.newest
            metrics.arrived = device.arrived
            for stream in device.streams {
                metrics.rates[stream.stream.name] = live.rate(of: stream, of: device, at: moment.boot)
            }
            // Without samples that were received since: some are never stored, and a counter must not decrease.
            let counters = device.counters ?? StoredCounters()
            metrics.samples = counters.samples
            metrics.duplicates = counters.duplicates
            metrics.conflicts = counters.conflicts
            metrics.missingBatches = counters.missing
            metrics.batchesOnTheirWay = counters.onItsWay
            metrics.droppedBatches = device.droppedBatches
            metrics.droppedSamples = device.droppedSamples
            metrics.batteryLevel = device.battery?.level
            metrics.isCharging = device.battery?.isCharging
            for point in device.clock?.points ?? [] {
                metrics.clockOffsets[point.collector.rawValue] = Double(point.offset) / 1e6
            }
            metrics.certificates = device.presence?.certificates ?? [:]
            return metrics
        }
        let collectors = live.collectors.map {
            MetricsSnapshot.Collector(group: $0.key.group, id: $0.key.collector, health: $0.value)
        }
        let reads = store.statistics
        var server = MetricsSnapshot.Server(
            version: configuration.version, isBrokerConnected: feed.status.isConnected,
            isStoreReadable: store.problem == nil, connections: connections.counter.count,
            subscribers: [
                "fleet": streams.fleet.count, "states": streams.states.count, "live": streams.live.count,
                "events": streams.events.count,
            ],
            droppedSamples: Int(feed.picture.statistics.droppedSamples), queries: reads.reads,
            querySeconds: reads.duration / .seconds(1), failedQueries: reads.failures,
            usage: ProcessUsage.now())
        server.certificates = feed.status.certificates
        server.refusedConnections = connections.refused
        server.refusedLogins = refusedLogins.total
        server.unsentBytes = budget.reserved
        var snapshot = MetricsSnapshot(at: moment.wall, collectors: collectors, devices: devices, server: server)
        snapshot.gateways = live.gateways
        return snapshot
    }
}
