package import LockstepModel

/// Reads events and their deliveries.
package struct EventRows {
    /// The maximum number of values in the condition of a query.
    package static let queryLimit = 500

    package let source: any StoreSource
    /// Returns the device with an id, or nil if it is not known. Without this, the devices are looked up in the store.
    package let address: ((Int64) -> DeviceAddress?)?

    package init(_ source: any StoreSource, address: ((Int64) -> DeviceAddress?)? = nil) {
        self.source = source
        self.address = address
    }

    /// Returns the events that meet a condition. Events of unknown devices are skipped.
    /// - Parameters:
    ///   - rows: where the events are.
    ///   - order: the order of their numbers in SQL.
    package func events(
        where condition: String, in rows: String = "events", order: String = "DESC", limit: Int = .max
    ) throws(StoreError) -> [StoredEvent] {
        try numbered(where: condition, in: rows, order: order, limit: limit).map(\.event)
    }

    /// Returns events with the ids of their devices; 0 if there is none.
    private func numbered(
        where condition: String, in rows: String, order: String = "DESC", limit: Int = .max
    ) throws(StoreError) -> [(device: Int64, event: StoredEvent)] {
        let found = try source.rows(
            """
            SELECT event_id, rule, device_id, t, at, value, text, late, severity, acknowledged
            FROM \(rows) WHERE \(condition)
            ORDER BY event_id \(order) \(limit == .max ? "" : "LIMIT \(max(0, limit))")
            """
        ) { row throws(StoreError) in
            let value = row.double(at: 5)
            let key = RuleEvent.Key(
                rule: row.text(at: 1) ?? "", device: nil, time: Timestamp(microseconds: row.int64(at: 3)))
            let event = RuleEvent(
                key: key, at: Timestamp(microseconds: row.int64(at: 4)), value: value.isNaN ? nil : value,
                text: row.text(at: 6) ?? "", isLate: row.int64(at: 7) != 0,
                severity: row.text(at: 8).flatMap(Severity.init) ?? .warning)
            return (
                device: row.int64(at: 2),
                event: StoredEvent(id: row.int64(at: 0), event: event, acknowledged: timestamp(row, at: 9))
            )
        }
        let addresses = try address == nil ? lookUp(Set(found.map(\.device))) : [:]
        return found.compactMap { device, event in
            guard device != 0 else { return (device, event) }
            var event = event
            event.event.key.device = address?(device) ?? addresses[device]
            return event.event.key.device == nil ? nil : (device, event)
        }
    }

    /// Looks up the devices with these ids.
    private func lookUp(_ ids: Set<Int64>) throws(StoreError) -> [Int64: DeviceAddress] {
        var addresses: [Int64: DeviceAddress] = [:]
        for part in ids.sorted().chunks(of: Self.queryLimit) {
            let list = part.map { "\($0)" }.joined(separator: ", ")
            for (id, address) in try source.rows(
                "SELECT DISTINCT device_id, group_name, device FROM \(source.dialect.devices) WHERE device_id IN (\(list))",
                { row throws(StoreError) in (row.int64(at: 0), deviceAddress(row, at: 1)) })
            {
                addresses[id] = address
            }
        }
        return addresses
    }

    /// Returns the notifications that meet a condition, oldest first.
    package func deliveries(where condition: String) throws(StoreError) -> [EventDelivery] {
        let rows = try source.rows(
            """
            SELECT delivery_id, event_id, device_id, way, state, attempts, due, error FROM \(source.dialect.deliveries)
            WHERE \(condition) ORDER BY delivery_id, device_id
            """
        ) { row throws(StoreError) in
            (
                id: row.int64(at: 0), event: row.int64(at: 1), device: row.int64(at: 2), way: row.text(at: 3) ?? "",
                state: row.text(at: 4).flatMap(EventDelivery.State.init) ?? .pending, attempts: Int(row.int64(at: 5)),
                due: Timestamp(microseconds: row.int64(at: 6)), error: row.text(at: 7)
            )
        }
        // Two events of different devices may have the same number.
        var events: [Int64: [(device: Int64, event: StoredEvent)]] = [:]
        for part in Set(rows.map(\.event)).sorted().chunks(of: Self.queryLimit) {
            let list = part.map { "\($0)" }.joined(separator: ", ")
            for found in try numbered(where: "event_id IN (\(list))", in: source.dialect.events(Array(part))) {
                events[found.event.id, default: []].append(found)
            }
        }
        return rows.compactMap { row in
            guard let event = events[row.event]?.first(where: { $0.device == row.device })?.event else { return nil }
            return EventDelivery(
                id: row.id, event: event, way: row.way, state: row.state, attempts: row.attempts, due: row.due,
                error: row.error)
        }
    }

    /// Returns the notifications in a state, oldest first.
    package func deliveries(_ state: EventDelivery.State) throws(StoreError) -> [EventDelivery] {
        try deliveries(where: "state = '\(state.rawValue)'")
    }
}
