import LockstepModel
import LockstepSQLite

/// The table `log_epochs`: the ids of epochs in the logs.
struct EpochTable {
    private var committed: [DeviceEpoch: Int64] = [:]
    private var pending: [DeviceEpoch: Int64] = [:]
    private let select: SQLiteStatement
    private let insert: SQLiteStatement

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        select = try database.prepare(
            "SELECT epoch_id FROM log_epochs WHERE device_id = ? AND epoch = ?", persistent: true)
        insert = try database.prepare("INSERT INTO log_epochs (device_id, epoch) VALUES (?, ?)", persistent: true)
    }

    /// Returns the id of an epoch, and inserts the epoch if it is new.
    mutating func id(of key: DeviceEpoch, device: Int64, in database: SQLiteDatabase) throws(SQLiteError) -> Int64 {
        if let id = committed[key] ?? pending[key] { return id }
        let id: Int64
        if let found = try find(key, device: device) { id = found } else { id = try add(key, device, database) }
        pending[key] = id
        return id
    }

    /// Marks the pending ids as committed. Call after the transaction has committed.
    mutating func commit() {
        guard !pending.isEmpty else { return }
        committed.merge(pending) { known, _ in known }
        pending.removeAll(keepingCapacity: true)
    }

    /// Discards the pending ids. Call after the transaction was rolled back.
    mutating func rollBack() { pending.removeAll(keepingCapacity: true) }

    private func find(_ key: DeviceEpoch, device: Int64) throws(SQLiteError) -> Int64? {
        try select.bind(device, at: 1)
        try select.bind(key.epoch.rawValue, at: 2)
        defer { select.reset() }
        return try select.step() ? select.int64(at: 0) : nil
    }

    private func add(_ key: DeviceEpoch, _ device: Int64, _ database: SQLiteDatabase) throws(SQLiteError) -> Int64 {
        try insert.bind(device, at: 1)
        try insert.bind(key.epoch.rawValue, at: 2)
        try insert.run()
        return database.lastInsertRowID
    }
}
