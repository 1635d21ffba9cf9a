import LockstepModel
import LockstepSQLite

/// The table `_devices`: the id and the life-cycle snapshot of each device, and its counters without what waits.
///
/// The ids of all devices are in memory. A new device gets its row at the end of the transaction, when all of it is known.
struct DeviceTable {
    /// The greatest id. Rows with other ids, which a user has added, are ignored, so that the next ids do not overflow.
    static let maxID: Int64 = 1 << 53

    /// The ids of stored devices.
    private var committed: [DeviceAddress: Int64] = [:]
    /// The ids of devices that the current transaction adds.
    private var pending: [DeviceAddress: Int64] = [:]
    /// The greatest id of a stored device, or 0.
    private var lastCommitted: Int64
    /// The greatest id, including the devices that the current transaction adds.
    private var last: Int64

    /// The stored devices by the numbers that the writer has given them.
    private var numbered = NumberMap<(address: DeviceAddress, id: Int64)>()
    /// The ids of devices that the current transaction adds and whose rows are not written yet.
    private var unwritten: [Int64: DeviceAddress] = [:]
    /// The devices that the current transaction adds.
    private(set) var added: Set<Int64> = []

    private let insert: SQLiteStatement
    private let updateState: SQLiteStatement
    private let count: SQLiteStatement
    private let addFigures: SQLiteStatement
    /// Selects the devices whose ids are greater than ``lastCommitted``.
    private let select: SQLiteStatement

    /// Reads the ids of all devices.
    init(in database: SQLiteDatabase) throws(SQLiteError) {
        insert = try database.prepare(
            """
            INSERT INTO _devices (
                device_id, group_name, device, first_seen, last_seen, state, since, previous, reason, state_seq, session,
                phase, rests_on, session_epoch)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, persistent: true)
        // Messages are written within a minute. A later time shows that the clock was ahead, and has been set back.
        updateState = try database.prepare(
            """
            UPDATE _devices SET first_seen = ifnull(first_seen, ?2),
                last_seen = ifnull(iif(last_seen > ?3 + 60000000, ?3, max(last_seen, ?3)), ifnull(last_seen, ?3)),
                state = ?4, since = ?5, previous = ?6, reason = ?7, state_seq = ?8, session = ?9, phase = ?10,
                rests_on = ?11, session_epoch = ?12
            WHERE device_id = ?1
            """, persistent: true)
        count = try database.prepare(
            "UPDATE _devices SET duplicates = duplicates + ?2, conflicts = conflicts + ?3 WHERE device_id = ?1",
            persistent: true)
        // A time after now (?7) shows that the clock was ahead, and has been set back.
        let lastSeen = "iif(last_seen > ?7, NULL, last_seen)"
        addFigures = try database.prepare(
            """
            UPDATE _devices SET first_seen = ifnull(min(first_seen, ?2), ifnull(first_seen, ?2)),
                last_seen = ifnull(max(\(lastSeen), ?3), ifnull(\(lastSeen), ?3)),
                last_t = ifnull(max(last_t, ?4), ifnull(last_t, ?4)), samples = samples + ?5,
                rests_on = ifnull(?6, rests_on)
            WHERE device_id = ?1
            """, persistent: true)
        select = try database.prepare(
            """
            SELECT group_name, device, device_id FROM _devices
            WHERE device_id > ? AND device_id <= \(Self.maxID) ORDER BY device_id
            """, persistent: true)
        last = 0
        lastCommitted = 0
        try readNew()
    }

    /// Reads the devices whose ids are greater than ``lastCommitted``, among them those that a person has added.
    private mutating func readNew() throws(SQLiteError) {
        defer { select.reset() }
        try select.bind(lastCommitted, at: 1)
        while try select.step() {
            let id = select.int64(at: 2)
            lastCommitted = id
            if let address = deviceAddress(select, at: 0), committed[address] == nil { committed[address] = id }
        }
        last = lastCommitted
    }

    /// Returns the id of a device. A new device gets one, and its row when ``write(_:of:firstSeen:lastSeen:)`` or
    /// ``writeRest()`` is called.
    mutating func id(of device: DeviceAddress) -> Int64 {
        if let id = find(device) { return id }
        last += 1
        pending[device] = last
        unwritten[last] = device
        added.insert(last)
        return last
    }

    /// Returns the id of a device with a number, which avoids computing its hash.
    mutating func id(of device: DeviceAddress, number: Int?) -> Int64 {
        guard let number else { return id(of: device) }
        if let entry = numbered[number], entry.address == device { return entry.id }
        let id = id(of: device)
        // Only the id of a stored device is final.
        if committed[device] != nil { numbered[number] = (device, id) }
        return id
    }

    /// Returns the id of a device, or nil if it is unknown.
    func find(_ device: DeviceAddress) -> Int64? { committed[device] ?? pending[device] }

    /// Writes the life-cycle snapshot of the device with id `device`, and its row if it is new.
    /// - Parameters:
    ///   - firstSeen: the time of the first message of the transaction, for a device without an earlier message.
    ///   - lastSeen: the time of the last message, or nil to keep the stored time.
    mutating func write(
        _ snapshot: LifecycleSnapshot, of device: Int64, firstSeen: Timestamp?, lastSeen: Timestamp?
    ) throws(SQLiteError) {
        if let address = unwritten[device] {
            return try insert(address, device, snapshot, firstSeen: firstSeen, lastSeen: lastSeen)
        }
        try updateState.bind(device, at: 1)
        try updateState.bind(firstSeen?.microseconds, at: 2)
        try updateState.bind(lastSeen?.microseconds, at: 3)
        try bind(snapshot, to: updateState, from: 4)
        try updateState.run()
    }

    /// Writes the row of a new device that has no life-cycle snapshot.
    mutating func write(new device: Int64, firstSeen: Timestamp?) throws(SQLiteError) {
        guard let address = unwritten[device] else { return }
        try insert(address, device, LifecycleSnapshot(), firstSeen: firstSeen, lastSeen: nil)
    }

    /// Writes the rows of new devices that do not have one yet.
    mutating func writeRest() throws(SQLiteError) {
        for device in unwritten.keys.sorted() { try write(new: device, firstSeen: nil) }
    }

    /// Adds duplicates and conflicts, which are rare, to the row of a device.
    func add(_ counts: IngestResult.Counts, of device: Int64) throws(SQLiteError) {
        guard counts.duplicates > 0 || counts.conflicts > 0 else { return }
        try count.bind(device, at: 1)
        try count.bind(Int64(counts.duplicates), at: 2)
        try count.bind(Int64(counts.conflicts), at: 3)
        try count.run()
    }

    /// Adds what waited to the row of a device.
    /// - Parameter evidence: the time of the newest evidence for the state, in µs since 1970, or nil to keep the stored one.
    func add(_ figures: WaitingIndex.Figures, of device: Int64, evidence: Int64?) throws(SQLiteError) {
        try addFigures.bind(device, at: 1)
        try addFigures.bind(figures.firstSeen, at: 2)
        try addFigures.bind(figures.lastSeen, at: 3)
        try addFigures.bind(figures.newest, at: 4)
        try addFigures.bind(figures.samples, at: 5)
        try addFigures.bind(evidence, at: 6)
        try addFigures.bind(Moment.now().wall.microseconds, at: 7)
        try addFigures.run()
    }

    private mutating func insert(
        _ address: DeviceAddress, _ device: Int64, _ snapshot: LifecycleSnapshot, firstSeen: Timestamp?,
        lastSeen: Timestamp?
    ) throws(SQLiteError) {
        try insert.bind(device, at: 1)
        try insert.bind(address.group.rawValue, at: 2)
        try insert.bind(address.device.rawValue, at: 3)
        try insert.bind(firstSeen?.microseconds, at: 4)
        try insert.bind(lastSeen?.microseconds, at: 5)
        try bind(snapshot, to: insert, from: 6)
        try insert.run()
        unwritten[device] = nil
    }

    /// Binds the columns from `state` on to the parameters from `first` on.
    private func bind(
        _ snapshot: LifecycleSnapshot, to statement: SQLiteStatement, from first: Int
    ) throws(SQLiteError) {
        try statement.bind(snapshot.last?.to.rawValue, at: first)
        try statement.bind(snapshot.last?.since.microseconds, at: first + 1)
        try statement.bind(snapshot.last?.from?.rawValue, at: first + 2)
        try statement.bind(snapshot.last?.reason, at: first + 3)
        try statement.bind(snapshot.last?.seq, at: first + 4)
        try statement.bind(snapshot.session, at: first + 5)
        try statement.bind(snapshot.storedPhase, at: first + 6)
        try statement.bind(snapshot.evidenceTime?.microseconds, at: first + 7)
        try statement.bind(snapshot.epoch?.rawValue, at: first + 8)
    }

    /// Returns the addresses of the stored devices, by their ids.
    var addresses: [Int64: DeviceAddress] {
        Dictionary(committed.map { ($1, $0) }) { first, _ in first }
    }

    /// Marks the pending ids as committed. Call after the transaction has committed.
    mutating func commit() {
        guard !pending.isEmpty else { return }
        committed.merge(pending) { known, _ in known }
        lastCommitted = last
        endTransaction()
    }

    /// Discards the pending ids. Call after the transaction was rolled back.
    mutating func rollBack() {
        last = lastCommitted
        // The cause may be a row with the id of a new device that a user has added. If it cannot be read now, the next
        // rollback tries again.
        try? readNew()
        endTransaction()
    }

    private mutating func endTransaction() {
        pending.removeAll(keepingCapacity: true)
        unwritten.removeAll(keepingCapacity: true)
        added.removeAll(keepingCapacity: true)
    }
}
