public import LockstepModel
import LockstepSQLite

extension StoreReader {
    /// Returns events of rules, oldest first.
    /// - Parameters:
    ///   - device: only events of this device, or nil for all.
    ///   - group: only events of devices of this group, or nil for all.
    ///   - rule: only events of the rule with this name, or nil for all.
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - after: only events with a higher number.
    ///   - before: only events with a lower number.
    ///   - limit: the maximum number of events. If there are more, the newest are returned.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func events(
        of device: DeviceAddress? = nil, group: GroupID? = nil, rule: String? = nil, from: Timestamp? = nil,
        to: Timestamp? = nil, after: Int64 = 0, before: Int64 = .max, limit: Int = 1000,
        cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> [StoredEvent] {
        try reading(until: cancellation) {
            let select = try database.prepare(
                """
                SELECT \(EventTable.columns) FROM events LEFT JOIN _devices USING (device_id)
                WHERE events.t >= ?1 AND events.t < ?2 AND events.event_id > ?3 AND events.event_id < ?7
                    AND (?4 IS NULL OR _devices.group_name = ?4)
                    AND (?5 IS NULL OR _devices.device = ?5) AND (?8 IS NULL OR rule = ?8)
                ORDER BY events.event_id DESC LIMIT ?6
                """)
            try select.bind(from?.microseconds ?? .min, at: 1)
            try select.bind(to?.microseconds ?? .max, at: 2)
            try select.bind(after, at: 3)
            try select.bind((device?.group ?? group)?.rawValue, at: 4)
            try select.bind(device?.device.rawValue, at: 5)
            try select.bind(Int64(max(0, limit)), at: 6)
            try select.bind(before, at: 7)
            try select.bind(rule, at: 8)
            var events: [StoredEvent] = []
            while try select.step() { events.append(EventTable.event(select, from: 0)) }
            return events.reversed()
        }
    }

    /// Returns notifications in one state, oldest first.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func deliveries(_ state: EventDelivery.State) throws(StoreError) -> [EventDelivery] {
        try reading { try EventTable.deliveries(state, in: database) }
    }
}
