import LockstepModel
import LockstepWire

extension MetricsWriter {
    /// Writes the metrics of all gateways.
    /// - Parameter unsorted: the last reports, by `group/id`.
    mutating func write(gateways unsorted: [String: GatewayHealth]) {
        let gateways = unsorted.sorted { $0.key < $1.key }
        metric("lockstep_gateway_status", .gauge, "1 for the present status of a gateway, 0 for the others.") {
            for (name, health) in gateways {
                for status in GatewayHealth.Status.allCases {
                    $0.flag(health.status == status, Self.labels(name) + [("status", status.rawValue)])
                }
            }
        }
        metric("lockstep_gateway_report_timestamp_seconds", .gauge, "Time of the last health report.") {
            for (name, health) in gateways { $0.sample(health.at.seconds, Self.labels(name)) }
        }
        certificates("gateway", gateways.map { (Self.labels($0.key), $0.value.certificates ?? [:]) })
        count("lockstep_gateway_devices", .gauge, "Known devices.", of: gateways) { $0.devices }
        count(
            "lockstep_gateway_messages_accepted_total", .counter, "Foreign messages accepted since the start.",
            of: gateways
        ) { $0.accepted }
        count(
            "lockstep_gateway_messages_refused_total", .counter, "Foreign messages refused since the start.",
            of: gateways
        ) { $0.refused }
        count(
            "lockstep_gateway_parts_left_out_total", .counter,
            "Parts of accepted messages left out since the start, because they could not be read.", of: gateways
        ) { $0.leftOut }
        count(
            "lockstep_gateway_logins_refused_total", .counter,
            "HTTP requests with a wrong or missing login since the start.", of: gateways
        ) { $0.refusedLogins }
        count("lockstep_gateway_outbox_bytes", .gauge, "Size of the batches in the outbox.", of: gateways) {
            $0.outboxBytes
        }
        count(
            "lockstep_gateway_samples_dropped_total", .counter, "Samples dropped because the outbox was full.",
            of: gateways
        ) { $0.dropped }
        count("lockstep_gateway_resident_memory_bytes", .gauge, "Resident memory.", of: gateways) { $0.memory }
        write(sparkplugOf: gateways)
    }

    private mutating func write(sparkplugOf gateways: [(key: String, value: GatewayHealth)]) {
        guard gateways.contains(where: { $0.value.sparkplug != nil }) else { return }
        metric(
            "lockstep_gateway_sparkplug_connected", .gauge, "Whether the host application of Sparkplug is connected."
        ) {
            for (name, health) in gateways {
                if let sparkplug = health.sparkplug { $0.flag(sparkplug.connected, Self.labels(name)) }
            }
        }
        count("lockstep_gateway_sparkplug_nodes", .gauge, "Known nodes of Sparkplug.", of: gateways) {
            $0.sparkplug?.nodes
        }
        count("lockstep_gateway_sparkplug_devices", .gauge, "Known devices of Sparkplug nodes.", of: gateways) {
            $0.sparkplug?.devices
        }
        count(
            "lockstep_gateway_sparkplug_messages_total", .counter, "Messages of Sparkplug nodes since the start.",
            of: gateways
        ) { $0.sparkplug?.messages }
        count(
            "lockstep_gateway_sparkplug_messages_missing_total", .counter,
            "Messages of Sparkplug nodes that were missing.", of: gateways
        ) { $0.sparkplug?.missing }
        count(
            "lockstep_gateway_sparkplug_birth_requests_total", .counter, "Requests for birth messages.", of: gateways
        ) { $0.sparkplug?.rebirths }
    }

    private mutating func count(
        _ name: String, _ kind: Kind, _ help: String, of gateways: [(key: String, value: GatewayHealth)],
        _ value: (GatewayHealth) -> Int?
    ) {
        metric(name, kind, help) {
            // A last will has no counts, only zeros.
            for (name, health) in gateways where health.started != nil { $0.count(value(health), Self.labels(name)) }
        }
    }

    private static func labels(_ name: String) -> Labels {
        let parts = name.split(separator: "/", maxSplits: 1)
        return [("group", String(parts.first ?? "")), ("gateway", String(parts.last ?? ""))]
    }
}
