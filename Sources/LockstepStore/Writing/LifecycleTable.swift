import LockstepModel
import LockstepSQLite

/// The table `states` of life-cycle transitions, and the life-cycle snapshots in `_devices`.
struct LifecycleTable {
    private let insert: SQLiteStatement
    private let select: SQLiteStatement

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        // A transition is written again if it is unknown whether the first commit succeeded.
        insert = try database.prepare(
            """
            INSERT INTO states (device_id, seq, state, since, previous, reason) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET state = excluded.state, since = excluded.since, previous = excluded.previous,
                reason = excluded.reason
            """, persistent: true)
        select = try database.prepare(
            """
            SELECT group_name, device, state, since, previous, reason, state_seq, session, phase, rests_on,
                session_epoch
            FROM _devices WHERE device_id BETWEEN 1 AND \(DeviceTable.maxID) ORDER BY device_id
            """, persistent: true)
    }

    /// Writes a transition of the device with id `device`.
    func write(_ transition: LifecycleTransition, of device: Int64) throws(SQLiteError) {
        try insert.bind(device, at: 1)
        try insert.bind(transition.seq, at: 2)
        try insert.bind(transition.to.rawValue, at: 3)
        try insert.bind(transition.since.microseconds, at: 4)
        try insert.bind(transition.from?.rawValue, at: 5)
        try insert.bind(transition.reason, at: 6)
        try insert.run()
    }

    /// Returns the snapshots of all devices.
    func read() throws(SQLiteError) -> [DeviceAddress: LifecycleSnapshot] {
        var snapshots: [DeviceAddress: LifecycleSnapshot] = [:]
        while try select.step() {
            guard let device = deviceAddress(select, at: 0) else { continue }
            var snapshot = LifecycleSnapshot(
                last: lastTransition, epoch: select.text(at: 10).map(Epoch.init(unchecked:)),
                session: select.optionalInt64(at: 7), evidenceTime: timestamp(select, at: 9))
            snapshot.storedPhase = select.text(at: 8)
            snapshots[device] = snapshot
        }
        return snapshots
    }

    private var lastTransition: LifecycleTransition? {
        guard let state = select.text(at: 2).flatMap(LifecycleState.init), let since = timestamp(select, at: 3) else {
            return nil
        }
        return LifecycleTransition(
            from: select.text(at: 4).flatMap(LifecycleState.init), to: state, since: since,
            reason: select.text(at: 5) ?? "", seq: select.int64(at: 6))
    }
}

/// Reads group and device from the columns `column` and `column + 1` of the current row, or nil if one of them is NULL.
func deviceAddress(_ statement: some StoreRow, at column: Int) -> DeviceAddress? {
    guard let group = statement.text(at: column), let device = statement.text(at: column + 1) else { return nil }
    return DeviceAddress(group: GroupID(unchecked: group), device: DeviceID(unchecked: device))
}

/// Reads a time in µs since 1970 from a column of the current row, or nil for NULL.
func timestamp(_ statement: some StoreRow, at column: Int) -> Timestamp? {
    statement.optionalInt64(at: column).map(Timestamp.init(microseconds:))
}
