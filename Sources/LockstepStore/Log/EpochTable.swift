import LockstepModel
import LockstepSQLite

/// The ids of epochs in the logs: 0 for the first epoch of a device, which is in its row, and those of the table
/// `log_epochs` for the others.
struct EpochTable {
    /// The ids of stored epochs and of those that the current transaction has inserted, by the number of their scope.
    private var ids = NumberMap<Int64>()
    /// The numbers of the scopes that the current transaction has inserted.
    private var pending: [Int] = []
    private let insert: SQLiteStatement

    /// Reads all ids.
    init(in database: SQLiteDatabase, _ scopes: inout ScopeTable) throws(SQLiteError) {
        insert = try database.prepare("INSERT INTO log_epochs (device_id, epoch) VALUES (?, ?)", persistent: true)
        for (id, epoch) in try Self.epochs(in: database) {
            ids[scopes.scope(of: epoch.key.device, device: epoch.device, epoch: epoch.key.epoch).number] = id
        }
    }

    /// Returns the SQL expression of the epoch of a row with the columns `device_id` and `epoch_id`, or NULL if it has none.
    /// - Parameter row: the name of its table in the query.
    static func epochSQL(of row: String) -> String {
        """
        CASE \(row).epoch_id
            WHEN 0 THEN (SELECT first_epoch FROM merged_devices WHERE device_id = \(row).device_id)
            ELSE (SELECT epoch FROM log_epochs WHERE epoch_id = \(row).epoch_id) END
        """
    }

    /// Returns the epochs in `log_epochs` and the ids of their devices, by the ids of the epochs.
    static func epochs(
        in database: SQLiteDatabase
    ) throws(SQLiteError) -> [Int64: (key: DeviceEpoch, device: Int64)] {
        let select = try database.prepare(
            "SELECT epoch_id, group_name, device, epoch, device_id FROM log_epochs JOIN merged_devices USING (device_id)"
        )
        var epochs: [Int64: (key: DeviceEpoch, device: Int64)] = [:]
        while try select.step() {
            guard let device = deviceAddress(select, at: 1), let epoch = select.text(at: 3) else { continue }
            let key = DeviceEpoch(device: device, epoch: Epoch(unchecked: epoch))
            epochs[select.int64(at: 0)] = (key, select.int64(at: 4))
        }
        return epochs
    }

    /// Returns the first epochs of devices, by the ids of the devices.
    static func firstEpochs(in database: SQLiteDatabase) throws(SQLiteError) -> [Int64: DeviceEpoch] {
        let select = try database.prepare(
            "SELECT device_id, group_name, device, first_epoch FROM merged_devices WHERE epoch_code IS NOT NULL")
        var epochs: [Int64: DeviceEpoch] = [:]
        while try select.step() {
            guard let device = deviceAddress(select, at: 1), let epoch = select.text(at: 3) else { continue }
            epochs[select.int64(at: 0)] = DeviceEpoch(device: device, epoch: Epoch(unchecked: epoch))
        }
        return epochs
    }

    /// Returns the id of an epoch, and inserts the epoch if it is new.
    /// - Parameter devices: the devices; a new one gets its first epoch.
    mutating func id(
        of scope: Scope, _ devices: inout DeviceTable, in database: SQLiteDatabase
    ) throws(SQLiteError) -> Int64 {
        if let id = ids[scope.number] { return id }
        if devices.isFirst(scope.epoch, of: scope.device) {
            ids[scope.number] = 0
            pending.append(scope.number)
            return 0
        }
        try insert.bind(scope.device, at: 1)
        try insert.bind(scope.epoch.rawValue, at: 2)
        try insert.run()
        let id = database.lastInsertRowID
        ids[scope.number] = id
        pending.append(scope.number)
        return id
    }

    /// Marks the pending ids as committed. Call after the transaction has committed.
    mutating func commit() { pending.removeAll(keepingCapacity: true) }

    /// Discards the pending ids. Call after the transaction was rolled back.
    mutating func rollBack() {
        for number in pending { ids[number] = nil }
        pending.removeAll(keepingCapacity: true)
    }
}
