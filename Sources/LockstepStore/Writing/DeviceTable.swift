import LockstepModel
import LockstepSQLite

/// The table `devices`: the id, the counters and the life-cycle snapshot of each device.
struct DeviceTable {
    /// The ids of devices that are stored.
    private var committed: [DeviceAddress: Int64] = [:]
    /// The ids of devices that the current transaction has looked up or inserted.
    private var pending: [DeviceAddress: Int64] = [:]

    private let select: SQLiteStatement
    private let insert: SQLiteStatement
    private let updateCounts: SQLiteStatement
    private let updateCountsAndState: SQLiteStatement

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        select = try database.prepare(
            "SELECT device_id FROM devices WHERE group_name = ? AND device = ?", persistent: true)
        insert = try database.prepare("INSERT INTO devices (group_name, device) VALUES (?, ?)", persistent: true)
        // SQLite's min and max return NULL if one argument is NULL.
        let counts = """
            first_seen = ifnull(min(first_seen, ?2), ifnull(first_seen, ?2)),
            last_seen = ifnull(max(last_seen, ?3), ifnull(last_seen, ?3)),
            last_t = ifnull(max(last_t, ?4), ifnull(last_t, ?4)),
            samples = samples + ?5, duplicates = duplicates + ?6, conflicts = conflicts + ?7
            """
        let state = """
            state = ?8, since = ?9, previous = ?10, reason = ?11, state_seq = ?12, session = ?13, phase = ?14,
            rests_on = ?15, session_epoch = ?16
            """
        updateCounts = try database.prepare("UPDATE devices SET \(counts) WHERE device_id = ?1", persistent: true)
        // Use one statement instead of two: most of the cost is per changed page, not per column.
        updateCountsAndState = try database.prepare(
            "UPDATE devices SET \(counts), \(state) WHERE device_id = ?1", persistent: true)
    }

    /// Returns the id of a device, and inserts the device if it is new.
    mutating func id(of device: DeviceAddress, in database: SQLiteDatabase) throws(SQLiteError) -> Int64 {
        if let id = committed[device] ?? pending[device] { return id }
        let id: Int64
        if let found = try find(device) { id = found } else { id = try add(device, in: database) }
        pending[device] = id
        return id
    }

    /// Writes the changes that a transaction made to the device with id `device`.
    func write(_ changes: DeviceChanges, of device: Int64) throws(SQLiteError) {
        let statement = changes.snapshot == nil ? updateCounts : updateCountsAndState
        try statement.bind(device, at: 1)
        try statement.bind(changes.firstSeen?.microseconds, at: 2)
        try statement.bind(changes.lastSeen?.microseconds, at: 3)
        try statement.bind(changes.newestSample, at: 4)
        try statement.bind(Int64(changes.counts.stored), at: 5)
        try statement.bind(Int64(changes.counts.duplicates), at: 6)
        try statement.bind(Int64(changes.counts.conflicts), at: 7)
        if let snapshot = changes.snapshot { try bind(snapshot, to: statement, from: 8) }
        try statement.run()
    }

    private func bind(
        _ snapshot: LifecycleSnapshot, to statement: SQLiteStatement, from first: Int
    ) throws(SQLiteError) {
        try statement.bind(snapshot.last?.to.rawValue, at: first)
        try statement.bind(snapshot.last?.since.microseconds, at: first + 1)
        try statement.bind(snapshot.last?.from?.rawValue, at: first + 2)
        try statement.bind(snapshot.last?.reason, at: first + 3)
        try statement.bind(snapshot.last?.seq, at: first + 4)
        try statement.bind(snapshot.session, at: first + 5)
        try statement.bind(snapshot.phase?.rawValue, at: first + 6)
        try statement.bind(snapshot.evidenceTime?.microseconds, at: first + 7)
        try statement.bind(snapshot.epoch?.rawValue, at: first + 8)
    }

    /// Marks the pending ids as committed. Call after the transaction has committed.
    mutating func commit() {
        committed.merge(pending) { known, _ in known }
        pending.removeAll(keepingCapacity: true)
    }

    /// Discards the pending ids. Call after the transaction was rolled back.
    mutating func rollBack() {
        pending.removeAll(keepingCapacity: true)
    }

    private func find(_ device: DeviceAddress) throws(SQLiteError) -> Int64? {
        try select.bind(device.group.rawValue, at: 1)
        try select.bind(device.device.rawValue, at: 2)
        defer { select.reset() }
        return try select.step() ? select.int64(at: 0) : nil
    }

    private func add(_ device: DeviceAddress, in database: SQLiteDatabase) throws(SQLiteError) -> Int64 {
        try insert.bind(device.group.rawValue, at: 1)
        try insert.bind(device.device.rawValue, at: 2)
        try insert.run()
        return database.lastInsertRowID
    }
}
