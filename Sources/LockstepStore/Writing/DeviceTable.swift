import LockstepModel
import LockstepSQLite

/// The table `merged_devices`: the id and the life-cycle snapshot of each device. A merge writes its counters.
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
    /// The first epochs of the devices, in their rows or to be written with them.
    private(set) var firstEpochs = NumberMap<Epoch>()

    /// The ids of devices that the current transaction adds and whose rows are not written yet.
    private var unwritten: [Int64: DeviceAddress] = [:]
    /// The devices that the current transaction adds.
    private(set) var added: Set<Int64> = []

    private let insert: SQLiteStatement
    private let updateState: SQLiteStatement
    /// Selects the devices whose ids are greater than ``lastCommitted``.
    private let select: SQLiteStatement

    /// Reads the ids of all devices.
    init(in database: SQLiteDatabase) throws(SQLiteError) {
        insert = try database.prepare(
            """
            INSERT INTO merged_devices (
                device_id, group_name, device, origin, epoch_code, first_seen_after, last_seen_after, since_after,
                state_code, previous_code, reason_code, state_seq, session_after, phase_code, rests_on_after,
                session_epoch_code)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, persistent: true)
        let origin = "(\(DeviceSchema.reference) + origin)"
        // Messages are written within a minute. A later time shows that the clock was ahead, and has been set back.
        updateState = try database.prepare(
            """
            UPDATE merged_devices SET state_code = ?2, since_after = ?3 - \(origin), previous_code = ?4,
                reason_code = ?5, state_seq = ?6, session_after = ?7 - \(origin), phase_code = ?8,
                rests_on_after = ?9 - \(origin), session_epoch_code = iif(?10 = first_epoch, 0, ?10),
                first_seen_after = ifnull(first_seen_after, ?11 - \(origin)),
                last_seen_after = ifnull(iif(last_seen > ?12 + 60000000, ?12, max(last_seen, ?12)), ifnull(last_seen, ?12))
                    - ifnull(first_seen, ifnull(?11, \(origin)))
            WHERE device_id = ?1
            """, persistent: true)
        select = try database.prepare(
            """
            SELECT group_name, device, device_id, first_epoch FROM merged_devices
            WHERE device_id > ? AND device_id <= \(Self.maxID) ORDER BY device_id
            """, persistent: true)
        last = 0
        lastCommitted = 0
        try readNew()
    }

    /// Reads the devices whose ids are greater than ``lastCommitted``. If a user has added a second row of a device, it is
    /// ignored.
    private mutating func readNew() throws(SQLiteError) {
        defer { select.reset() }
        try select.bind(lastCommitted, at: 1)
        while try select.step() {
            let id = select.int64(at: 2)
            lastCommitted = id
            if let address = deviceAddress(select, at: 0), committed[address] == nil { committed[address] = id }
            if let epoch = select.text(at: 3) { firstEpochs[Int(id)] = Epoch(unchecked: epoch) }
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

    /// Returns whether an epoch is the first one of a device. The first one of a new device is kept with its row.
    mutating func isFirst(_ epoch: Epoch, of device: Int64) -> Bool {
        if let first = firstEpochs[Int(device)] { return first == epoch }
        guard unwritten[device] != nil else { return false }
        firstEpochs[Int(device)] = epoch
        return true
    }

    /// Writes the life-cycle snapshot of the device with id `device`, and its row if it is new.
    /// - Parameters:
    ///   - firstSeen: the time of the first message of the transaction, for a device without an earlier message.
    ///   - lastSeen: the time of the last message in µs since 1970, or nil to keep the stored time.
    mutating func write(
        _ snapshot: LifecycleSnapshot, of device: Int64, firstSeen: Timestamp?, lastSeen: Int64?
    ) throws(SQLiteError) {
        if let address = unwritten[device] {
            if let epoch = snapshot.epoch { _ = isFirst(epoch, of: device) }
            return try insert(address, device, snapshot, firstSeen: firstSeen?.microseconds, lastSeen: lastSeen)
        }
        try updateState.bind(device, at: 1)
        try bind(snapshot, to: updateState, states: [2, 4, 5, 6, 8])
        try updateState.bind(snapshot.last?.since.microseconds, at: 3)
        try updateState.bind(snapshot.session, at: 7)
        try updateState.bind(snapshot.evidenceTime?.microseconds, at: 9)
        try updateState.bind(snapshot.epoch?.rawValue, at: 10)
        try updateState.bind(firstSeen?.microseconds, at: 11)
        try updateState.bind(lastSeen, at: 12)
        try updateState.run()
    }

    /// Writes the row of a new device that has no life-cycle snapshot.
    mutating func write(new device: Int64, firstSeen: Timestamp?) throws(SQLiteError) {
        guard let address = unwritten[device] else { return }
        try insert(address, device, LifecycleSnapshot(), firstSeen: firstSeen?.microseconds, lastSeen: nil)
    }

    /// Writes the rows of new devices that do not have one yet.
    mutating func writeRest() throws(SQLiteError) {
        for device in unwritten.keys.sorted() { try write(new: device, firstSeen: nil) }
    }

    private mutating func insert(
        _ address: DeviceAddress, _ device: Int64, _ snapshot: LifecycleSnapshot, firstSeen: Int64?, lastSeen: Int64?
    ) throws(SQLiteError) {
        let origin = snapshot.last?.since.microseconds ?? firstSeen ?? DeviceSchema.reference
        let epoch = firstEpochs[Int(device)]
        // Without overflows, whatever the clocks of devices say: payloads limit times to 2^53.
        func after(_ time: Int64?) -> Int64? { time.map { $0 &- origin } }
        try insert.bind(device, at: 1)
        try insert.bind(address.group.rawValue, at: 2)
        try insert.bind(address.device.rawValue, at: 3)
        try insert.bind(origin &- DeviceSchema.reference, at: 4)
        try insert.bind(epoch.map(DeviceCode.init), at: 5)
        try insert.bind(after(firstSeen), at: 6)
        try insert.bind(lastSeen.map { $0 &- (firstSeen ?? origin) }, at: 7)
        try insert.bind(after(snapshot.last?.since.microseconds), at: 8)
        try bind(snapshot, to: insert, states: [9, 10, 11, 12, 14])
        try insert.bind(after(snapshot.session), at: 13)
        try insert.bind(after(snapshot.evidenceTime?.microseconds), at: 15)
        try insert.bind(snapshot.epoch.map { $0 == epoch ? .number(0) : .text($0.rawValue) }, at: 16)
        try insert.run()
        unwritten[device] = nil
    }

    /// Binds state, previous state, reason, number of the transition, and phase to the parameters `states`.
    private func bind(
        _ snapshot: LifecycleSnapshot, to statement: SQLiteStatement, states: [Int]
    ) throws(SQLiteError) {
        try statement.bind((snapshot.last?.to.rawValue).map(DeviceCode.init(word:)), at: states[0])
        try statement.bind((snapshot.last?.from?.rawValue).map(DeviceCode.init(word:)), at: states[1])
        try statement.bind((snapshot.last?.reason).map(DeviceCode.init(word:)), at: states[2])
        try statement.bind(snapshot.last?.seq, at: states[3])
        try statement.bind(snapshot.storedPhase.map(DeviceCode.init(word:)), at: states[4])
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
        for device in added { firstEpochs[Int(device)] = nil }
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
