public import LockstepModel
public import LockstepStore

extension ClickHouseReader: EventReading {
    /// The events of rules, or nil if the store was created by a program that did not store them, and no collector of this
    /// version has opened it yet.
    public var events: (any EventReading)? {
        if !hasEvents { hasEvents = (try? hasTable("events")) ?? false }
        return hasEvents ? self : nil
    }

    public func events(
        of device: DeviceAddress?, group: GroupID?, rule: String?, from: Timestamp?, to: Timestamp?, after: Int64,
        before: Int64, limit: Int, cancellation: QueryCancellation?
    ) throws(StoreError) -> [StoredEvent] {
        defer { client.cancellation = nil }
        client.cancellation = cancellation
        var conditions = ["event_id > \(after)", "event_id < \(before)"]
        if let from { conditions.append("t >= \(from.microseconds)") }
        if let to { conditions.append("t < \(to.microseconds)") }
        if let rule { conditions.append("rule = \(literal(rule))") }
        if let device {
            conditions.append("device_id = \(DeviceRecord.id(of: device))")
        } else if let group {
            // A list of ids could be longer than the server accepts.
            conditions.append(
                "device_id IN (SELECT device_id FROM received_devices WHERE group_name = \(literal(group.rawValue)))")
        }
        return try EventRows(client: client)
            .events(where: conditions.joined(separator: " AND "), limit: limit).reversed()
    }

    public func deliveries(_ state: EventDelivery.State) throws(StoreError) -> [EventDelivery] {
        try EventRows(client: client).deliveries(state)
    }
}
