public import LockstepModel
public import LockstepStore

extension ClickHouseStore {
    /// Takes over devices from an earlier owner.
    ///
    /// Samples, batch numbers and dropped batches need no fencing: they are facts that stay true whoever stored them, and
    /// their tables only grow. The state of each device and its last transition are written again with the new token.
    /// From then on, rows with an earlier token are ignored from that transition on.
    /// - Throws: ``/LockstepStore/StoreError``.
    public func takeOver(_ token: FencingToken, owning owns: (DeviceAddress) -> Bool) throws(StoreError) {
        devices = []
        deviceIndexes = [:]
        addresses = [:]
        dirtyDevices = []
        loadedNumbers = []
        scopeKeys = []
        scopeNumbers = [:]
        numbers = []
        newest = [:]
        transaction = Transaction()
        self.token = token
        lastVersion = Fence.start(of: token)
        for record in try DeviceRecord.readAll(client) where owns(record.address) { try register(record) }
        var states = RowBinary()
        for record in devices {
            if let last = record.lifecycle.last { append(last, of: record.id, to: &states) }
        }
        try insert(states, into: "received_states", StateColumns.names)
        try write(devices)
    }

    /// Appends a row for `received_states`.
    func append(_ change: LifecycleTransition, of device: Int64, to rows: inout RowBinary) {
        change.append(of: device, version: nextVersion(), to: &rows)
    }
}

extension LifecycleTransition {
    /// Appends the row for `received_states`.
    func append(of device: Int64, version: UInt64, to rows: inout RowBinary) {
        rows.append(device)
        rows.append(seq)
        rows.append(to.rawValue)
        rows.append(since.microseconds)
        rows.append(from?.rawValue)
        rows.append(reason)
        rows.append(version)
        rows.endRow()
    }
}
