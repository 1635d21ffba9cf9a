import LockstepModel
import LockstepStore

/// Reads the views of events.
struct EventRows {
    /// The maximum number of events in the condition of a query.
    private static let queryLimit = 500

    let client: ClickHouseClient
    /// Returns the device with an id, or nil if it is not known. Without this, the devices are looked up in the store.
    var address: ((Int64) -> DeviceAddress?)?

    /// Returns the events that meet a condition, with the highest numbers first. Events of unknown devices are skipped.
    /// - Parameter rows: a condition that all rows about an event meet, or none. The server reads no other rows.
    func events(
        where condition: String = "1", among rows: String? = nil, limit: Int = .max
    ) throws(StoreError) -> [StoredEvent] {
        let limit = limit == .max ? "" : "LIMIT \(max(0, limit))"
        let source = rows.map { "(\(ClickHouseSchema.selectEvents(where: $0)))" } ?? "events"
        let rows = try client.rows(
            """
            SELECT event_id, rule, device_id, t, at, value, text, late, acknowledged FROM \(source) WHERE \(condition)
            ORDER BY event_id DESC \(limit)
            """)
        let found = address == nil ? try lookUp(Set(rows.compactMap { $0[2].flatMap { Int64($0) } })) : [:]
        var events: [StoredEvent] = []
        for row in rows {
            guard row.count == 9, let id = row[0].flatMap({ Int64($0) }), let rule = row[1],
                let device = row[2].flatMap({ Int64($0) }), let time = row[3].flatMap({ Int64($0) }),
                let at = row[4].flatMap({ Int64($0) }), let text = row[6]
            else { throw StoreError(.corrupt, "a row of the view events is damaged: \(row.compactMap(\.self))") }
            let address = address?(device) ?? found[device]
            guard device == 0 || address != nil else { continue }
            events.append(
                StoredEvent(
                    id: id,
                    event: RuleEvent(
                        key: .init(rule: rule, device: address, time: Timestamp(microseconds: time)),
                        at: Timestamp(microseconds: at), value: row[5].flatMap { Double($0) }, text: text,
                        isLate: row[7] != "0"),
                    acknowledged: row[8].flatMap { Int64($0) }.map(Timestamp.init(microseconds:))))
        }
        return events
    }

    /// Looks up the devices with these ids.
    private func lookUp(_ ids: Set<Int64>) throws(StoreError) -> [Int64: DeviceAddress] {
        var addresses: [Int64: DeviceAddress] = [:]
        for part in ids.sorted().chunks(of: Self.queryLimit) {
            let list = part.map { "\($0)" }.joined(separator: ", ")
            for row in try client.rows(
                "SELECT DISTINCT device_id, group_name, device FROM received_devices WHERE device_id IN (\(list))")
            {
                guard let id = row[0].flatMap({ Int64($0) }), let group = row[1].flatMap({ GroupID(rawValue: $0) }),
                    let device = row[2].flatMap({ DeviceID(rawValue: $0) })
                else { throw StoreError(.corrupt, "a row of received_devices is damaged: \(row.compactMap(\.self))") }
                addresses[id] = DeviceAddress(group: group, device: device)
            }
        }
        return addresses
    }

    /// Returns the event with a key, or nil if it is not stored.
    func event(_ key: RuleEvent.Key) throws(StoreError) -> StoredEvent? {
        try events(among: Self.condition(key) + " AND rule = \(literal(key.rule))", limit: 1).first
    }

    /// Returns the keys of the events that are stored.
    func known(among keys: [RuleEvent.Key]) throws(StoreError) -> Set<RuleEvent.Key> {
        Set(try numbers(among: keys).keys)
    }

    /// Returns the numbers of the events that are stored.
    func numbers(among keys: [RuleEvent.Key]) throws(StoreError) -> [RuleEvent.Key: Int64] {
        var numbers: [RuleEvent.Key: Int64] = [:]
        for part in keys.chunks(of: Self.queryLimit) {
            let conditions = part.map { "(\(Self.condition($0)))" }.joined(separator: " OR ")
            for row in try client.rows("SELECT rule, device_id, t, event_id FROM received_events WHERE \(conditions)") {
                guard let rule = row[0], let device = row[1].flatMap({ Int64($0) }),
                    let time = row[2].flatMap({ Int64($0) }), let number = row[3].flatMap({ Int64($0) })
                else { continue }
                let key = RuleEvent.Key(rule: rule, device: address?(device), time: Timestamp(microseconds: time))
                // Of several rows about an event, the first counts.
                numbers[key] = min(number, numbers[key] ?? number)
            }
        }
        return numbers
    }

    /// What identifies an event: two events of different devices may have the same number.
    private struct EventKey: Hashable {
        let id: Int64
        /// The id of the device; 0 if there is none.
        let device: Int64
    }

    /// Returns the notifications in a state, oldest first.
    func deliveries(_ state: EventDelivery.State) throws(StoreError) -> [EventDelivery] {
        let rows = try client.rows(
            """
            SELECT delivery_id, event_id, way, attempts, due, error, device_id FROM (\(ClickHouseSchema.selectDeliveries))
            WHERE state = '\(state.rawValue)' ORDER BY delivery_id, device_id
            """)
        var events: [EventKey: StoredEvent] = [:]
        for part in Set(rows.compactMap { $0[1] }).sorted().chunks(of: Self.queryLimit) {
            let isPart = "event_id IN (\(part.joined(separator: ", ")))"
            let rows = "(device_id, rule, t) IN (SELECT device_id, rule, t FROM received_events WHERE \(isPart))"
            for event in try self.events(where: isPart, among: rows) {
                events[EventKey(id: event.id, device: event.device.map(DeviceRecord.id) ?? 0)] = event
            }
        }
        return rows.compactMap { row in
            guard row.count == 7, let id = row[0].flatMap({ Int64($0) }), let event = row[1].flatMap({ Int64($0) }),
                let device = row[6].flatMap({ Int64($0) }), let event = events[EventKey(id: event, device: device)],
                let way = row[2]
            else { return nil }
            return EventDelivery(
                id: id, event: event, way: way, state: state, attempts: row[3].flatMap { Int($0) } ?? 0,
                due: Timestamp(microseconds: row[4].flatMap { Int64($0) } ?? 0), error: row[5])
        }
    }

    private static func condition(_ key: RuleEvent.Key) -> String {
        "device_id = \(key.device.map(DeviceRecord.id) ?? 0) AND t = \(key.time.microseconds)"
    }
}
