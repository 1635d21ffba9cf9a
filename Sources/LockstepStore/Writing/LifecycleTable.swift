import LockstepModel
import LockstepSQLite

/// The table `states` of life-cycle transitions.
struct LifecycleTable {
    private let insert: SQLiteStatement

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        // A transition is written again if it is unknown whether the first commit succeeded.
        insert = try database.prepare(
            """
            INSERT INTO states (device_id, seq, state, since, previous, reason) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET state = excluded.state, since = excluded.since, previous = excluded.previous,
                reason = excluded.reason
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
