extension MetricsWriter {
    /// Writes the metrics of the serving process.
    mutating func write(server: MetricsSnapshot.Server) {
        metric("lockstep_serve_build_info", .gauge, "Version of lockstep-serve. The value is always 1.") {
            $0.count(1, [("version", server.version)])
        }
        metric("lockstep_serve_broker_connected", .gauge, "1 if connected to the broker, otherwise 0.") {
            $0.flag(server.isBrokerConnected)
        }
        metric("lockstep_serve_store_readable", .gauge, "1 if the store can be read, otherwise 0.") {
            $0.flag(server.isStoreReadable)
        }
        certificates("serve", [([], server.certificates)])
        metric("lockstep_serve_connections", .gauge, "Open HTTP connections.") { $0.count(server.connections) }
        metric("lockstep_serve_connections_refused_total", .counter, "Connections refused because there were too many.")
        {
            $0.count(server.refusedConnections)
        }
        metric("lockstep_serve_logins_refused_total", .counter, "Requests with a missing or wrong login.") {
            $0.count(server.refusedLogins)
        }
        metric("lockstep_serve_unsent_bytes", .gauge, "Size of answers that clients have not taken yet.") {
            $0.count(server.unsentBytes)
        }
        metric("lockstep_serve_subscribers", .gauge, "Open event streams.") {
            for (kind, count) in server.subscribers.sorted(by: { $0.key < $1.key }) {
                $0.count(count, [("kind", kind)])
            }
        }
        metric(
            "lockstep_serve_samples_dropped_total", .counter,
            "Live samples that were not sent because a client read too slowly."
        ) { $0.count(server.droppedSamples) }
        metric("lockstep_serve_query_duration_seconds", .summary, "Duration of queries of the store.") {
            $0.sample(server.querySeconds, suffix: "_sum")
            $0.count(server.queries, suffix: "_count")
        }
        metric("lockstep_serve_query_failures_total", .counter, "Queries of the store that failed.") {
            $0.count(server.failedQueries)
        }
        guard let usage = server.usage else { return }
        // The names that Prometheus recommends to all programs.
        metric("process_cpu_seconds_total", .counter, "CPU time of lockstep-serve, user and system.") {
            $0.sample(usage.cpuSeconds)
        }
        metric("process_resident_memory_bytes", .gauge, "Resident memory of lockstep-serve.") {
            $0.count(usage.residentBytes)
        }
        metric("process_virtual_memory_bytes", .gauge, "Virtual memory of lockstep-serve.") {
            $0.count(usage.virtualBytes)
        }
        metric("process_start_time_seconds", .gauge, "Start of lockstep-serve.") { $0.sample(usage.startTime) }
        metric("process_open_fds", .gauge, "Open file descriptors of lockstep-serve.") {
            $0.count(usage.openDescriptors)
        }
        metric("process_max_fds", .gauge, "Maximum number of open file descriptors.") {
            $0.count(usage.maxDescriptors)
        }
    }
}
