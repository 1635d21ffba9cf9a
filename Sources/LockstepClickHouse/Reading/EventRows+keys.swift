import LockstepModel
import LockstepStore

// An SQLite store finds events by their keys without reading them.

extension EventRows {
    /// Returns the event with a key, or nil if it is not stored.
    func event(_ key: RuleEvent.Key) throws(StoreError) -> StoredEvent? {
        let isKey = Self.condition(key) + " AND rule = \(literal(key.rule))"
        return try events(where: "1 = 1", in: "(\(ClickHouseSchema.selectEvents(where: isKey)))", limit: 1).first
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
            for (key, number) in try source.rows(
                "SELECT rule, device_id, t, event_id FROM received_events WHERE \(conditions)",
                { row throws(StoreError) in
                    (
                        RuleEvent.Key(
                            rule: row.text(at: 0) ?? "", device: address?(row.int64(at: 1)),
                            time: Timestamp(microseconds: row.int64(at: 2))), row.int64(at: 3)
                    )
                })
            {
                // Of several rows about an event, the first counts.
                numbers[key] = min(number, numbers[key] ?? number)
            }
        }
        return numbers
    }

    private static func condition(_ key: RuleEvent.Key) -> String {
        "device_id = \(key.device.map(DeviceRecord.id) ?? 0) AND t = \(key.time.microseconds)"
    }
}
