import LockstepLive
import LockstepModel
import LockstepWire

extension MetricsWriter {
    /// Writes the metrics of all collectors.
    mutating func write(collectors unsorted: [CollectorAddress: CollectorHealth]) {
        let collectors: [Labelled<CollectorHealth>] = unsorted.sorted { $0.key < $1.key }.map { address, health in
            ([("group", address.group.rawValue), ("collector", address.collector.rawValue)], health)
        }
        metric("lockstep_collector_status", "1 for the present status of a collector, 0 for the others.") {
            for (labels, health) in collectors {
                for status in [CollectorHealth.Status.online, .stalled, .offline] {
                    $0.flag(health.status == status, labels + [("status", status.rawValue)])
                }
            }
        }
        metric("lockstep_collector_build_info", "Version of a collector. The value is always 1.") {
            for (labels, health) in collectors {
                guard let version = health.version else { continue }
                $0.count(1, labels + [("version", version)])
            }
        }
        value("lockstep_collector_report_timestamp_seconds", "Time of the last health report.", of: collectors) {
            $0.at.seconds
        }
        value("lockstep_collector_start_time_seconds", "Start of the collector.", of: collectors) {
            $0.started?.seconds
        }
        certificates("collector", of: collectors) { $0.certificates ?? [:] }
        // A last will has no counts, only zeros. A counter that falls to zero would look like a restart, and its return
        // like new samples.
        let running = collectors.filter { $0.source.started != nil }
        counts(
            of: running,
            ("lockstep_collector_devices", "Known devices.", { $0.devices }),
            ("lockstep_collector_samples_stored_total", "Samples stored since the start.", { $0.stored }),
            (
                "lockstep_collector_samples_duplicate_total",
                "Samples received again with the same values since the start.", { $0.duplicates }
            ),
            (
                "lockstep_collector_samples_conflicting_total",
                "Samples received again with different values since the start.", { $0.conflicts }
            ),
            ("lockstep_collector_messages_rejected_total", "Invalid messages since the start.", { $0.rejected }),
            (
                "lockstep_collector_samples_dropped_total", "Samples that the agents of all devices report as dropped.",
                { $0.dropped.map { Int($0) } }
            ),
            ("lockstep_collector_resident_memory_bytes", "Resident memory.", { $0.memory }),
            ("lockstep_collector_resident_memory_peak_bytes", "Peak of the resident memory.", { $0.memoryPeak }))
        write(spaces: running.compactMap { labels, health in health.space.map { (labels, $0) } })
    }

    /// Writes the sizes of stores, and what leaves them.
    private mutating func write(spaces: [Labelled<CollectorHealth.Space>]) {
        counts(
            of: spaces,
            ("lockstep_collector_store_file_bytes", "Size of the store's file.", { $0.file }),
            ("lockstep_collector_store_log_bytes", "Size of its write-ahead log.", { $0.log }),
            (
                "lockstep_collector_store_free_bytes", "Size of the file's pages that are free for new samples.",
                { $0.free }
            ),
            ("lockstep_collector_store_limit_bytes", "Size that the content of the store may have.", { $0.limit }),
            (
                "lockstep_collector_samples_expired_total", "Samples that have left the store since the start.",
                { $0.expired }
            ),
            (
                "lockstep_collector_samples_late_total",
                "Samples that arrived after those of their time had left, since the start.", { $0.late }
            ),
            (
                "lockstep_collector_retention_refused_streams",
                "Streams of which nothing leaves because a confirmation is missing.", { $0.refused.count }
            ),
            (
                "lockstep_collector_store_reader_age_seconds",
                "Time for which a reader has kept the write-ahead log from being emptied.", { $0.readerAge ?? 0 }
            ))
        value(
            "lockstep_collector_store_full_timestamp_seconds",
            "Time at which the limit or the disk is reached at the present rate.", of: spaces
        ) { $0.fullAt?.seconds }
    }
}
