import LockstepModel
import LockstepSQLite

/// The table `merged_devices`: the id and the life-cycle snapshot of each device. A merge writes its counters.
struct DeviceTable {
    /// The ids of devices that are stored.
    private var committed: [DeviceAddress: Int64] = [:]
    /// The ids of devices that the current transaction has looked up or inserted.
    private var pending: [DeviceAddress: Int64] = [:]

    /// The stored devices by the numbers that the writer has given them.
    private var numbered = NumberMap<(address: DeviceAddress, id: Int64)>()

    /// The devices that the current transaction has inserted.
    private(set) var added: Set<Int64> = []

    private let select: SQLiteStatement
    private let insert: SQLiteStatement
    private let updateState: SQLiteStatement
    private let setFirstSeen: SQLiteStatement

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        select = try database.prepare(
            "SELECT device_id FROM merged_devices WHERE group_name = ? AND device = ?", persistent: true)
        insert = try database.prepare("INSERT INTO merged_devices (group_name, device) VALUES (?, ?)", persistent: true)
        updateState = try database.prepare(
            """
            UPDATE merged_devices SET state = ?2, since = ?3, previous = ?4, reason = ?5, state_seq = ?6, session = ?7,
                phase = ?8, rests_on = ?9, session_epoch = ?10,
                first_seen = ifnull(first_seen, ?11), last_seen = ifnull(max(last_seen, ?12), ifnull(last_seen, ?12))
            WHERE device_id = ?1
            """, persistent: true)
        setFirstSeen = try database.prepare(
            "UPDATE merged_devices SET first_seen = ? WHERE device_id = ?", persistent: true)
    }

    /// Returns the id of a device, and inserts the device if it is new.
    mutating func id(of device: DeviceAddress, in database: SQLiteDatabase) throws(SQLiteError) -> Int64 {
        if let id = committed[device] ?? pending[device] { return id }
        let id: Int64
        if let found = try find(device) { id = found } else { id = try add(device, in: database) }
        pending[device] = id
        return id
    }

    /// Returns the id of a device with a number, which avoids computing its hash, and inserts the device if it is new.
    mutating func id(
        of device: DeviceAddress, number: Int?, in database: SQLiteDatabase
    ) throws(SQLiteError) -> Int64 {
        guard let number else { return try id(of: device, in: database) }
        if let entry = numbered[number], entry.address == device { return entry.id }
        let id = try id(of: device, in: database)
        // Only the id of a stored device is final.
        if committed[device] != nil { numbered[number] = (device, id) }
        return id
    }

    /// Writes the life-cycle snapshot of the device with id `device`.
    /// - Parameters:
    ///   - firstSeen: the time of the first message of the transaction, for a device without an earlier message.
    ///   - lastSeen: the time of the last message in µs since 1970, or nil to keep the stored time.
    func write(
        _ snapshot: LifecycleSnapshot, of device: Int64, firstSeen: Timestamp?, lastSeen: Int64?
    ) throws(SQLiteError) {
        try updateState.bind(device, at: 1)
        try bind(snapshot, to: updateState, from: 2)
        try updateState.bind(firstSeen?.microseconds, at: 11)
        try updateState.bind(lastSeen, at: 12)
        try updateState.run()
    }

    /// Writes the time of the first message of a device that the current transaction has inserted.
    func setFirstSeen(_ time: Timestamp, of device: Int64) throws(SQLiteError) {
        try setFirstSeen.bind(time.microseconds, at: 1)
        try setFirstSeen.bind(device, at: 2)
        try setFirstSeen.run()
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
        added.removeAll(keepingCapacity: true)
    }

    /// Discards the pending ids. Call after the transaction was rolled back.
    mutating func rollBack() {
        pending.removeAll(keepingCapacity: true)
        added.removeAll(keepingCapacity: true)
    }

    private func find(_ device: DeviceAddress) throws(SQLiteError) -> Int64? {
        try select.bind(device.group.rawValue, at: 1)
        try select.bind(device.device.rawValue, at: 2)
        defer { select.reset() }
        return try select.step() ? select.int64(at: 0) : nil
    }

    private mutating func add(_ device: DeviceAddress, in database: SQLiteDatabase) throws(SQLiteError) -> Int64 {
        try insert.bind(device.group.rawValue, at: 1)
        try insert.bind(device.device.rawValue, at: 2)
        try insert.run()
        let id = database.lastInsertRowID
        added.insert(id)
        return id
    }
}
