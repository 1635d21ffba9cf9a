import LockstepModel
import LockstepWire

extension MetricsWriter {
    /// Writes the metrics of all collectors.
    mutating func write(collectors unsorted: [MetricsSnapshot.Collector]) {
        let collectors = unsorted.sorted { ($0.group, $0.id) < ($1.group, $1.id) }
        metric("lockstep_collector_status", .gauge, "1 for the present status of a collector, 0 for the others.") {
            for collector in collectors {
                for status in [CollectorHealth.Status.online, .stalled, .offline] {
                    $0.flag(collector.health.status == status, collector.labels + [("status", status.rawValue)])
                }
            }
        }
        metric("lockstep_collector_build_info", .gauge, "Version of a collector. The value is always 1.") {
            for collector in collectors {
                guard let version = collector.health.version else { continue }
                $0.count(1, collector.labels + [("version", version)])
            }
        }
        time("lockstep_collector_report_timestamp_seconds", "Time of the last health report.", of: collectors) { $0.at }
        time("lockstep_collector_start_time_seconds", "Start of the collector.", of: collectors) { $0.started }
        certificates("collector", collectors.map { ($0.labels, $0.health.certificates ?? [:]) })
        count("lockstep_collector_devices", .gauge, "Known devices.", of: collectors) { $0.devices }
        count("lockstep_collector_samples_stored_total", .counter, "Samples stored since the start.", of: collectors) {
            $0.stored
        }
        count(
            "lockstep_collector_samples_duplicate_total", .counter,
            "Samples received again with the same values since the start.", of: collectors
        ) { $0.duplicates }
        count(
            "lockstep_collector_samples_conflicting_total", .counter,
            "Samples received again with different values since the start.", of: collectors
        ) { $0.conflicts }
        count(
            "lockstep_collector_messages_rejected_total", .counter, "Invalid messages since the start.", of: collectors
        ) { $0.rejected }
        count(
            "lockstep_collector_samples_dropped_total", .counter,
            "Samples that the agents of all devices report as dropped.", of: collectors
        ) { $0.dropped.map(Int.init) }
        count("lockstep_collector_resident_memory_bytes", .gauge, "Resident memory.", of: collectors) { $0.memory }
        count("lockstep_collector_resident_memory_peak_bytes", .gauge, "Peak of the resident memory.", of: collectors) {
            $0.memoryPeak
        }
        write(space: collectors)
    }

    /// Writes the sizes of stores, and what leaves them.
    private mutating func write(space collectors: [MetricsSnapshot.Collector]) {
        count("lockstep_collector_store_file_bytes", .gauge, "Size of the store's file.", of: collectors) {
            Self.space(of: $0)?.file
        }
        count("lockstep_collector_store_log_bytes", .gauge, "Size of its write-ahead log.", of: collectors) {
            Self.space(of: $0)?.log
        }
        count(
            "lockstep_collector_store_free_bytes", .gauge, "Size of the file's pages that are free for new samples.",
            of: collectors
        ) { Self.space(of: $0)?.free }
        count(
            "lockstep_collector_store_limit_bytes", .gauge, "Size that the content of the store may have.",
            of: collectors
        ) { Self.space(of: $0)?.limit }
        time(
            "lockstep_collector_store_full_timestamp_seconds",
            "Time at which the limit or the disk is reached at the present rate.", of: collectors
        ) { Self.space(of: $0)?.fullAt }
        count(
            "lockstep_collector_samples_expired_total", .counter, "Samples that have left the store since the start.",
            of: collectors
        ) { Self.space(of: $0)?.expired }
        count(
            "lockstep_collector_samples_late_total", .counter,
            "Samples that arrived after those of their time had left, since the start.", of: collectors
        ) { Self.space(of: $0)?.late }
        count(
            "lockstep_collector_retention_refused_streams", .gauge,
            "Streams of which nothing leaves because a confirmation is missing.", of: collectors
        ) { Self.space(of: $0)?.refused.count }
        count(
            "lockstep_collector_store_reader_age_seconds", .gauge,
            "Time for which a reader has kept the write-ahead log from being emptied.", of: collectors
        ) { Self.space(of: $0).map { $0.readerAge ?? 0 } }
    }

    /// Returns the space of a collector. The optimiser of Swift 6.3.1 crashes if this is part of the closures above.
    @inline(never)
    private static func space(of health: CollectorHealth) -> CollectorHealth.Space? { health.space }

    /// Writes when the certificates of programs expire.
    mutating func certificates(_ program: String, _ programs: [(labels: Labels, times: CertificateTimes)]) {
        metric(
            "lockstep_\(program)_certificate_expiry_timestamp_seconds", .gauge, "End of the validity of a certificate."
        ) {
            for (labels, times) in programs {
                for (use, time) in times.sorted(by: { $0.key < $1.key }) {
                    $0.sample(time.seconds, labels + [("certificate", use)])
                }
            }
        }
    }

    private mutating func time(
        _ name: String, _ help: String, of collectors: [MetricsSnapshot.Collector],
        _ value: (CollectorHealth) -> Timestamp?
    ) {
        metric(name, .gauge, help) {
            for collector in collectors { $0.sample(value(collector.health)?.seconds, collector.labels) }
        }
    }

    private mutating func count(
        _ name: String, _ kind: Kind, _ help: String, of collectors: [MetricsSnapshot.Collector],
        _ value: (CollectorHealth) -> Int?
    ) {
        metric(name, kind, help) {
            // A last will has no counts, only zeros. A counter that falls to zero would look like a restart, and its
            // return like new samples.
            for collector in collectors where collector.health.started != nil {
                $0.count(value(collector.health), collector.labels)
            }
        }
    }
}

extension MetricsSnapshot.Collector {
    fileprivate var labels: MetricsWriter.Labels { [("group", group.rawValue), ("collector", id.rawValue)] }
}
