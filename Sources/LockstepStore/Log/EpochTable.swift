import LockstepModel
import LockstepSQLite

/// The table `log_epochs`: the ids of epochs in the logs.
struct EpochTable {
    private var committed: [DeviceEpoch: Int64] = [:]
    private var pending: [DeviceEpoch: Int64] = [:]
    private let insert: SQLiteStatement

    /// Reads all ids.
    init(in database: SQLiteDatabase) throws(SQLiteError) {
        insert = try database.prepare("INSERT INTO log_epochs (device_id, epoch) VALUES (?, ?)", persistent: true)
        for (id, key) in try Self.epochs(in: database) { committed[key] = id }
    }

    /// Returns all epochs by their ids.
    static func epochs(in database: SQLiteDatabase) throws(SQLiteError) -> [Int64: DeviceEpoch] {
        let select = try database.prepare(
            "SELECT epoch_id, group_name, device, epoch FROM log_epochs JOIN merged_devices USING (device_id)")
        var epochs: [Int64: DeviceEpoch] = [:]
        while try select.step() {
            guard let device = deviceAddress(select, at: 1), let epoch = select.text(at: 3) else { continue }
            epochs[select.int64(at: 0)] = DeviceEpoch(device: device, epoch: Epoch(unchecked: epoch))
        }
        return epochs
    }

    /// Returns the id of an epoch, and inserts the epoch if it is new.
    mutating func id(of key: DeviceEpoch, device: Int64, in database: SQLiteDatabase) throws(SQLiteError) -> Int64 {
        if let id = committed[key] ?? pending[key] { return id }
        let id = try add(key, device, database)
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

    private func add(_ key: DeviceEpoch, _ device: Int64, _ database: SQLiteDatabase) throws(SQLiteError) -> Int64 {
        try insert.bind(device, at: 1)
        try insert.bind(key.epoch.rawValue, at: 2)
        try insert.run()
        return database.lastInsertRowID
    }
}
