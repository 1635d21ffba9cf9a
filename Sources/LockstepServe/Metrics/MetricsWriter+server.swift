import LockstepWire

/// What `/metrics` reports about the process that serves it.
struct ServerFigures: Sendable {
    var version: String
    var isBrokerConnected: Bool
    var isStoreReadable: Bool
    /// The ends of the validity of its certificates.
    var certificates: CertificateTimes
    /// The number of open HTTP connections.
    var connections: Int
    /// The number of connections that were refused because there were too many, of all clients or of one address.
    var refusedConnections: Int
    /// The number of requests that were refused because their login was missing or wrong.
    var refusedLogins: Int
    /// The size of the answers that clients have not taken yet, in bytes.
    var unsentBytes: Int
    /// The number of open event streams, keyed by their kind, such as `fleet`.
    var subscribers: [String: Int]
    /// The number of live samples that were not sent because a client read too slowly.
    var droppedSamples: Int
    /// The queries of the store that have ended.
    var queries: StorePool.Statistics
    /// The resources that the process uses, or nil if they are unknown.
    var usage: ProcessUsage?
}

extension MetricsWriter {
    /// Writes the metrics of the serving process.
    mutating func write(_ figures: ServerFigures) {
        metric("lockstep_serve_build_info", "Version of lockstep-serve. The value is always 1.") {
            $0.count(1, [("version", figures.version)])
        }
        let server: [Labelled<ServerFigures>] = [([], figures)]
        certificates("serve", of: server) { $0.certificates }
        counts(
            of: server,
            (
                "lockstep_serve_broker_connected", "1 if connected to the broker, otherwise 0.",
                { $0.isBrokerConnected ? 1 : 0 }
            ),
            (
                "lockstep_serve_store_readable", "1 if the store can be read, otherwise 0.",
                { $0.isStoreReadable ? 1 : 0 }
            ),
            ("lockstep_serve_connections", "Open HTTP connections.", { $0.connections }),
            (
                "lockstep_serve_connections_refused_total", "Connections refused because there were too many.",
                { $0.refusedConnections }
            ),
            ("lockstep_serve_logins_refused_total", "Requests with a missing or wrong login.", { $0.refusedLogins }),
            ("lockstep_serve_unsent_bytes", "Size of answers that clients have not taken yet.", { $0.unsentBytes }),
            (
                "lockstep_serve_samples_dropped_total",
                "Live samples that were not sent because a client read too slowly.", { $0.droppedSamples }
            ),
            ("lockstep_serve_query_failures_total", "Queries of the store that failed.", { $0.queries.failures }))
        metric("lockstep_serve_subscribers", "Open event streams.") {
            for (kind, count) in figures.subscribers.sorted(by: { $0.key < $1.key }) {
                $0.count(count, [("kind", kind)])
            }
        }
        metric("lockstep_serve_query_duration_seconds", isSummary: true, "Duration of queries of the store.") {
            $0.sample(figures.queries.duration / .seconds(1), suffix: "_sum")
            $0.count(figures.queries.reads, suffix: "_count")
        }
        guard let usage = figures.usage else { return }
        // The names that Prometheus recommends to all programs.
        metric("process_cpu_seconds_total", "CPU time of lockstep-serve, user and system.") {
            $0.sample(usage.cpuSeconds)
        }
        metric("process_start_time_seconds", "Start of lockstep-serve.") { $0.sample(usage.startTime) }
        let process: [Labelled<ProcessUsage>] = [([], usage)]
        counts(
            of: process,
            ("process_resident_memory_bytes", "Resident memory of lockstep-serve.", { $0.residentBytes }),
            ("process_virtual_memory_bytes", "Virtual memory of lockstep-serve.", { $0.virtualBytes }),
            ("process_open_fds", "Open file descriptors of lockstep-serve.", { $0.openDescriptors }),
            ("process_max_fds", "Maximum number of open file descriptors.", { $0.maxDescriptors }))
    }
}
