import LockstepModel
import LockstepSQLite

/// The tables of events, deliveries and states of rules.
struct EventTable {
    private let insert: SQLiteStatement
    private let insertDelivery: SQLiteStatement
    private let setState: SQLiteStatement
    private let updateDelivery: SQLiteStatement
    private let setAcknowledged: SQLiteStatement

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        // The same sample cannot notify twice, whatever happened to the state of its rule.
        insert = try database.prepare(
            """
            INSERT INTO events (rule, device_id, t, at, value, text, late, severity) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT DO NOTHING
            """, persistent: true)
        insertDelivery = try database.prepare(
            "INSERT INTO deliveries (event_id, way, state, due) VALUES (?, ?, 'pending', ?)", persistent: true)
        setState = try database.prepare(
            """
            INSERT INTO _rule_states (rule, device, state) VALUES (?, ?, ?)
            ON CONFLICT DO UPDATE SET state = excluded.state
            """, persistent: true)
        updateDelivery = try database.prepare(
            "UPDATE deliveries SET state = ?2, attempts = ?3, due = ?4, error = ?5 WHERE delivery_id = ?1",
            persistent: true)
        // The first acknowledgement stays.
        setAcknowledged = try database.prepare(
            """
            UPDATE events SET acknowledged = ifnull(acknowledged, ?1)
            WHERE rule = ?2 AND t = ?3 AND device_id = ?4
            RETURNING event_id, acknowledged
            """, persistent: true)
    }

    /// Inserts an event and its deliveries.
    /// - Returns: the deliveries, or an empty list if the event is stored already.
    func write(_ event: RuleEvent, device: Int64, in database: SQLiteDatabase) throws(SQLiteError) -> [EventDelivery] {
        try insert.bind(event.rule, at: 1)
        try insert.bind(device, at: 2)
        try insert.bind(event.time.microseconds, at: 3)
        try insert.bind(event.at.microseconds, at: 4)
        try insert.bind(event.value, at: 5)
        try insert.bind(event.text, at: 6)
        try insert.bind(Int64(event.isLate ? 1 : 0), at: 7)
        try insert.bind(event.severity.rawValue, at: 8)
        try insert.run()
        guard database.changes > 0 else { return [] }
        let stored = StoredEvent(id: database.lastInsertRowID, event: event)
        var deliveries: [EventDelivery] = []
        for way in event.ways {
            try insertDelivery.bind(stored.id, at: 1)
            try insertDelivery.bind(way, at: 2)
            try insertDelivery.bind(event.at.microseconds, at: 3)
            try insertDelivery.run()
            deliveries.append(
                EventDelivery(
                    id: database.lastInsertRowID, event: stored, way: way, state: .pending, attempts: 0, due: event.at)
            )
        }
        return deliveries
    }

    func write(_ state: ObserverState) throws(SQLiteError) {
        try setState.bind(state.rule, at: 1)
        try setState.bind(state.device?.description ?? "", at: 2)
        try setState.bind(state.json, at: 3)
        try setState.run()
    }

    func write(_ update: DeliveryUpdate) throws(SQLiteError) {
        try updateDelivery.bind(update.id, at: 1)
        try updateDelivery.bind(update.state.rawValue, at: 2)
        try updateDelivery.bind(Int64(update.attempts), at: 3)
        try updateDelivery.bind(update.due.microseconds, at: 4)
        try updateDelivery.bind(update.error, at: 5)
        try updateDelivery.run()
    }

    /// Writes an acknowledgement.
    /// - Parameter device: the id of the event's device, 0 if it has none, or -1 if the device is unknown.
    /// - Returns: the acknowledgement in the store, or nil if the event is not stored here.
    func write(
        _ acknowledgement: EventAcknowledgement, device: Int64
    ) throws(SQLiteError) -> StoredAcknowledgement? {
        try setAcknowledged.bind(acknowledgement.at.microseconds, at: 1)
        try setAcknowledged.bind(acknowledgement.key.rule, at: 2)
        try setAcknowledged.bind(acknowledgement.key.time.microseconds, at: 3)
        try setAcknowledged.bind(device, at: 4)
        var stored: StoredAcknowledgement?
        while try setAcknowledged.step() {
            stored = StoredAcknowledgement(
                id: setAcknowledged.int64(at: 0), key: acknowledgement.key,
                acknowledged: timestamp(setAcknowledged, at: 1) ?? acknowledgement.at)
        }
        return stored
    }

    /// Returns the kept states of rules.
    static func states(_ source: any StoreSource) throws(StoreError) -> [ObserverState] {
        try source.rows("SELECT rule, device, state FROM _rule_states") { row throws(StoreError) in
            guard let rule = row.text(at: 0), let text = row.text(at: 1), let json = row.text(at: 2) else { return nil }
            let parts = text.split(separator: "/", maxSplits: 1)
            let device =
                parts.count == 2
                ? DeviceAddress(
                    group: GroupID(unchecked: String(parts[0])), device: DeviceID(unchecked: String(parts[1]))) : nil
            return ObserverState(rule: rule, device: device, json: json)
        }
    }
}
