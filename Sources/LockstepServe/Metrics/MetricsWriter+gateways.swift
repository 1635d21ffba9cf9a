import LockstepModel
import LockstepWire

extension MetricsWriter {
    /// Writes the metrics of all gateways.
    /// - Parameter unsorted: the last reports, by `group/id`.
    mutating func write(gateways unsorted: [String: GatewayHealth]) {
        let gateways: [Labelled<GatewayHealth>] = unsorted.sorted { $0.key < $1.key }.map { name, health in
            let parts = name.split(separator: "/", maxSplits: 1)
            return ([("group", String(parts.first ?? "")), ("gateway", String(parts.last ?? ""))], health)
        }
        metric("lockstep_gateway_status", "1 for the present status of a gateway, 0 for the others.") {
            for (labels, health) in gateways {
                for status in GatewayHealth.Status.allCases {
                    $0.flag(health.status == status, labels + [("status", status.rawValue)])
                }
            }
        }
        value("lockstep_gateway_report_timestamp_seconds", "Time of the last health report.", of: gateways) {
            $0.at.seconds
        }
        certificates("gateway", of: gateways) { $0.certificates ?? [:] }
        // A last will has no counts, only zeros.
        let running = gateways.filter { $0.source.started != nil }
        counts(
            of: running,
            ("lockstep_gateway_devices", "Known devices.", { $0.devices }),
            ("lockstep_gateway_messages_accepted_total", "Foreign messages accepted since the start.", { $0.accepted }),
            ("lockstep_gateway_messages_refused_total", "Foreign messages refused since the start.", { $0.refused }),
            (
                "lockstep_gateway_parts_left_out_total",
                "Parts of accepted messages left out since the start, because they could not be read.", { $0.leftOut }
            ),
            (
                "lockstep_gateway_logins_refused_total", "HTTP requests with a wrong or missing login since the start.",
                { $0.refusedLogins }
            ),
            ("lockstep_gateway_outbox_bytes", "Size of the batches in the outbox.", { $0.outboxBytes }),
            ("lockstep_gateway_samples_dropped_total", "Samples dropped because the outbox was full.", { $0.dropped }),
            ("lockstep_gateway_resident_memory_bytes", "Resident memory.", { $0.memory }))
        metric(
            "lockstep_gateway_sparkplug_connected", "Whether the host application of Sparkplug is connected."
        ) {
            for (labels, health) in gateways { $0.flag(health.sparkplug?.connected, labels) }
        }
        let sparkplug: [Labelled<GatewayHealth.Sparkplug>] = running.compactMap { labels, health in
            health.sparkplug.map { (labels, $0) }
        }
        counts(
            of: sparkplug,
            ("lockstep_gateway_sparkplug_nodes", "Known nodes of Sparkplug.", { $0.nodes }),
            ("lockstep_gateway_sparkplug_devices", "Known devices of Sparkplug nodes.", { $0.devices }),
            (
                "lockstep_gateway_sparkplug_messages_total", "Messages of Sparkplug nodes since the start.",
                { $0.messages }
            ),
            (
                "lockstep_gateway_sparkplug_messages_missing_total", "Messages of Sparkplug nodes that were missing.",
                { $0.missing }
            ),
            ("lockstep_gateway_sparkplug_birth_requests_total", "Requests for birth messages.", { $0.rebirths }))
    }
}
