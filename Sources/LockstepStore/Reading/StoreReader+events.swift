public import LockstepModel
import LockstepSQLite

extension StoreReader {
    /// Returns events of rules, oldest first.
    /// - Parameters:
    ///   - device: only events of this device, or nil for all.
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - after: only events with a higher number.
    ///   - limit: the maximum number of events. If there are more, the newest are returned.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func events(
        of device: DeviceAddress? = nil, from: Timestamp? = nil, to: Timestamp? = nil, after: Int64 = 0,
        limit: Int = 1000
    ) throws(StoreError) -> [StoredEvent] {
        try reading {
            let select = try database.prepare(
                """
                SELECT \(EventTable.columns) FROM events LEFT JOIN merged_devices USING (device_id)
                WHERE events.t >= ?1 AND events.t < ?2 AND events.event_id > ?3
                    AND (?4 IS NULL OR (merged_devices.group_name = ?4 AND merged_devices.device = ?5))
                ORDER BY events.event_id DESC LIMIT ?6
                """)
            try select.bind(from?.microseconds ?? .min, at: 1)
            try select.bind(to?.microseconds ?? .max, at: 2)
            try select.bind(after, at: 3)
            try select.bind(device?.group.rawValue, at: 4)
            try select.bind(device?.device.rawValue, at: 5)
            try select.bind(Int64(max(0, limit)), at: 6)
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
