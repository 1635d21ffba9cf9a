public import LockstepModel

extension StoreReader {
    /// Returns events of rules, oldest first.
    /// - Parameters:
    ///   - device: only events of this device, or nil for all.
    ///   - group: only events of devices of this group, or nil for all.
    ///   - rule: only events of the rule with this name, or nil for all.
    ///   - severity: only events of this severity, or nil for all.
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - after: only events with a higher number.
    ///   - before: only events with a lower number.
    ///   - limit: the maximum number of events. If there are more, the newest are returned.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func events(
        of device: DeviceAddress? = nil, group: GroupID? = nil, rule: String? = nil, severity: Severity? = nil,
        from: Timestamp? = nil, to: Timestamp? = nil, after: Int64 = 0, before: Int64 = .max, limit: Int = 1000,
        cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> [StoredEvent] {
        try reading(until: cancellation) {
            guard let condition = try condition(of: device, group, rule, severity, from: from, to: to) else {
                return []
            }
            return try EventRows(source).events(
                where: "event_id > \(after) AND event_id < \(before) AND \(condition)", limit: limit
            ).reversed()
        }
    }

    /// Returns the number of events of rules, and how many of them nobody has acknowledged. The parameters are those of
    /// ``events(of:group:rule:severity:from:to:after:before:limit:cancellation:)``.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func eventCounts(
        of device: DeviceAddress? = nil, group: GroupID? = nil, rule: String? = nil, severity: Severity? = nil,
        from: Timestamp? = nil, to: Timestamp? = nil, cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> (all: Int, open: Int) {
        try reading(until: cancellation) {
            guard let condition = try condition(of: device, group, rule, severity, from: from, to: to) else {
                return (0, 0)
            }
            let counts = try source.rows(
                "SELECT count(*), count(acknowledged) FROM events WHERE \(condition)"
            ) { row throws(StoreError) in (all: Int(row.int64(at: 0)), open: Int(row.int64(at: 0) - row.int64(at: 1))) }
            return counts.first ?? (0, 0)
        }
    }

    /// Returns the condition for events in SQL, or nil if there can be none.
    private func condition(
        of device: DeviceAddress?, _ group: GroupID?, _ rule: String?, _ severity: Severity?, from: Timestamp?,
        to: Timestamp?
    ) throws -> String? {
        let times = timeRange(from, to)
        var conditions = ["t >= \(times.lowerBound)", "t < \(times.upperBound)"]
        if let rule { conditions.append("rule = \(source.literal(rule))") }
        if let severity { conditions.append("severity = '\(severity.rawValue)'") }
        if let device {
            guard let id = try driver.id(of: device) else { return nil }
            conditions.append("device_id = \(id)")
        } else if let group {
            // A list of ids could be longer than a server accepts.
            conditions.append(
                "device_id IN (SELECT device_id FROM \(source.dialect.devices) "
                    + "WHERE group_name = \(source.literal(group.rawValue)))")
        }
        return conditions.joined(separator: " AND ")
    }

    /// Returns notifications in one state, oldest first.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func deliveries(_ state: EventDelivery.State) throws(StoreError) -> [EventDelivery] {
        try reading { try EventRows(source).deliveries(state) }
    }

    /// Returns the events that follow an event, with their deliveries at the same time, oldest first.
    /// - Parameter number: the number of the last event that was read; 0 for the first ones.
    package func storedEvents(
        after number: Int64, limit: Int
    ) throws(StoreError) -> (events: [StoredEvent], deliveries: [EventDelivery]) {
        try reading {
            let events = try EventRows(source).events(where: "event_id > \(number)", order: "ASC", limit: limit)
            guard let first = events.first, let last = events.last else { return ([], []) }
            return (
                events, try EventRows(source).deliveries(where: "event_id >= \(first.id) AND event_id <= \(last.id)")
            )
        }
    }

    /// Returns the states that rules have kept in an SQLite store.
    package func ruleStates() throws(StoreError) -> [ObserverState] { try reading { try EventTable.states(source) } }
}
