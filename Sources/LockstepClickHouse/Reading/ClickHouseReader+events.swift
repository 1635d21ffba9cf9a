public import LockstepModel
public import LockstepStore

extension ClickHouseReader: EventReading {
    /// The events of rules, or nil if the store was created by a program that did not store them.
    public var events: (any EventReading)? { hasEvents ? self : nil }

    public func events(
        of device: DeviceAddress?, group: GroupID?, rule: String?, from: Timestamp?, to: Timestamp?, after: Int64,
        before: Int64, limit: Int, cancellation: QueryCancellation?
    ) throws(StoreError) -> [StoredEvent] {
        defer { client.cancellation = nil }
        client.cancellation = cancellation
        let addresses = try addresses()
        var conditions = ["event_id > \(after)", "event_id < \(before)"]
        if let from { conditions.append("t >= \(from.microseconds)") }
        if let to { conditions.append("t < \(to.microseconds)") }
        if let rule { conditions.append("rule = \(literal(rule))") }
        if let device {
            conditions.append("device_id = \(DeviceRecord.id(of: device))")
        } else if let group {
            let ids = addresses.filter { $0.value.group == group }.map { "\($0.key)" }
            guard !ids.isEmpty else { return [] }
            conditions.append("device_id IN (\(ids.joined(separator: ", ")))")
        }
        return try EventRows(client: client) { addresses[$0] }
            .events(where: conditions.joined(separator: " AND "), limit: limit).reversed()
    }

    public func deliveries(_ state: EventDelivery.State) throws(StoreError) -> [EventDelivery] {
        let addresses = try addresses()
        return try EventRows(client: client) { addresses[$0] }.deliveries(state)
    }

    private func addresses() throws(StoreError) -> [Int64: DeviceAddress] {
        Dictionary(uniqueKeysWithValues: try records().map { ($0.id, $0.address) })
    }
}
