public import LockstepModel
public import LockstepStore

extension ClickHouseStore {
    /// Takes over devices from an earlier owner.
    ///
    /// Samples, batch numbers and dropped batches need no fencing: they are facts that stay true whoever stored them, and
    /// their tables only grow. The state of each device and its last transition are written again with the new token.
    /// From then on, rows with an earlier token are ignored from that transition on.
    /// - Throws: ``/LockstepStore/StoreError``, also if the store holds this token or a higher one: what this owner writes
    ///   would be ignored.
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
        noSamplesSince = [:]
        transaction = Transaction()
        averages = AverageSchedule(delay: options.averageDelay)
        self.token = token
        lastVersion = Fence.start(of: token)
        // What earlier owners have written must not be missed.
        client.requireEverything()
        // The versions are read before the devices: of a new device, another collector first writes the state.
        let versions = try readVersions()
        var others: Set<Int64> = []
        for record in try DeviceRecord.read(client) {
            if owns(record.address) { try register(record) } else { others.insert(record.id) }
        }
        try readDeletions()
        try check(token, versions.filter { !others.contains($0.key) }.values.max() ?? 0)
        var states = RowBinary()
        for record in devices {
            if let last = record.lifecycle.last { append(last, of: record.id, to: &states) }
        }
        try insert(states, into: "received_states", StateColumns.names)
        try write(devices)
        // After the token was written: see checkOwnership(of:).
        try recoverRules(owning: owns)
    }

    /// Returns the highest version of each device.
    private func readVersions() throws(StoreError) -> [Int64: UInt64] {
        var versions: [Int64: UInt64] = [:]
        for table in ["received_devices", "received_states", "received_rule_states"] {
            versions.merge(try client.versions(of: table)) { max($0, $1) }
        }
        return versions
    }

    /// Checks that the token is higher than that of the highest version of the owner's devices.
    ///
    /// Tokens of one share only rise, but those of two differ. A device is in another share after its group was divided
    /// anew, and a broker that has lost its retained messages starts again with the time.
    private func check(_ token: FencingToken, _ highest: UInt64) throws(StoreError) {
        guard let needed = Fence.next(after: highest) else {
            throw StoreError(
                .other,
                "the store holds states with the highest token that exists, so that no collector can continue them: "
                    + "copy the store to a new database")
        }
        guard token >= needed else {
            throw StoreError(
                .other, "the store needs the token \(needed) or a higher one, but the claim has \(token)",
                neededToken: needed)
        }
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
