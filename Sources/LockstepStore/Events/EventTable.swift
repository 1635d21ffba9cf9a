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
            INSERT INTO events (rule, device_id, t, at, value, text, late) VALUES (?, ?, ?, ?, ?, ?, ?)
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
    static func states(in database: SQLiteDatabase) throws(SQLiteError) -> [ObserverState] {
        let select = try database.prepare("SELECT rule, device, state FROM _rule_states")
        var states: [ObserverState] = []
        while try select.step() {
            guard let rule = select.text(at: 0), let text = select.text(at: 1), let json = select.text(at: 2) else {
                continue
            }
            let parts = text.split(separator: "/", maxSplits: 1)
            let device =
                parts.count == 2
                ? DeviceAddress(
                    group: GroupID(unchecked: String(parts[0])), device: DeviceID(unchecked: String(parts[1]))) : nil
            states.append(ObserverState(rule: rule, device: device, json: json))
        }
        return states
    }

    /// Returns deliveries in one state, oldest first.
    static func deliveries(
        _ state: EventDelivery.State, in database: SQLiteDatabase
    ) throws(SQLiteError) -> [EventDelivery] {
        let select = try database.prepare(selectDeliveries(where: "deliveries.state = ?"))
        try select.bind(state.rawValue, at: 1)
        return try deliveries(select)
    }

    /// Returns the deliveries of the events whose numbers are in a range, oldest first.
    static func deliveries(
        of events: ClosedRange<Int64>, in database: SQLiteDatabase
    ) throws(SQLiteError) -> [EventDelivery] {
        let select = try database.prepare(selectDeliveries(where: "events.event_id >= ? AND events.event_id <= ?"))
        try select.bind(events.lowerBound, at: 1)
        try select.bind(events.upperBound, at: 2)
        return try deliveries(select)
    }

    private static func selectDeliveries(where condition: String) -> String {
        """
        SELECT delivery_id, way, deliveries.state, attempts, due, error, \(columns)
        FROM deliveries JOIN events USING (event_id) LEFT JOIN _devices USING (device_id)
        WHERE \(condition) ORDER BY delivery_id
        """
    }

    private static func deliveries(_ select: SQLiteStatement) throws(SQLiteError) -> [EventDelivery] {
        var deliveries: [EventDelivery] = []
        while try select.step() {
            deliveries.append(
                EventDelivery(
                    id: select.int64(at: 0), event: event(select, from: 6), way: select.text(at: 1) ?? "",
                    state: select.text(at: 2).flatMap(EventDelivery.State.init) ?? .pending,
                    attempts: Int(select.int64(at: 3)), due: Timestamp(microseconds: select.int64(at: 4)),
                    error: select.text(at: 5)))
        }
        return deliveries
    }

    static let columns = """
        events.event_id, rule, _devices.group_name, _devices.device, events.t, events.at, events.value,
        events.text, events.late, events.acknowledged
        """

    static func event(_ select: SQLiteStatement, from first: Int) -> StoredEvent {
        let value = select.double(at: first + 6)
        return StoredEvent(
            id: select.int64(at: first),
            event: RuleEvent(
                key: .init(
                    rule: select.text(at: first + 1) ?? "", device: deviceAddress(select, at: first + 2),
                    time: Timestamp(microseconds: select.int64(at: first + 4))),
                at: Timestamp(microseconds: select.int64(at: first + 5)), value: value.isNaN ? nil : value,
                text: select.text(at: first + 7) ?? "", isLate: select.int64(at: first + 8) != 0),
            acknowledged: timestamp(select, at: first + 9))
    }
}
