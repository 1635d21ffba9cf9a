import LockstepModel
import LockstepStore

// Continuing from what rules have concluded before this store was opened or its devices were taken over.

extension ClickHouseStore {
    /// Reads the states of rules, and stores the events and transitions that an earlier owner has committed but not stored.
    /// - Parameter owns: returns whether a device belongs to this owner.
    func recoverRules(owning owns: (DeviceAddress) -> Bool) throws(StoreError) {
        ledger = RuleLedger()
        client.requireEverything()
        ledger.lastNumber =
            try client.binary("SELECT max(event_id) FROM received_events") { try $0.integer() }.first ?? 0
        let rows = try readProgress(owning: owns)
        try renew(rows)
        var states = RowBinary()
        var changed: [DeviceRecord] = []
        for (id, address, progress) in rows {
            ledger.states[id] = progress.states
            ledger.evaluated[id] = progress.evaluatedTimes
            ledger.openEvents += progress.events.map { (id, $0.stored(of: address)) }
            // The row of a new device comes after the one that was read.
            if deviceIndexes[address] == nil { try register(DeviceRecord(address)) }
            guard let index = deviceIndexes[address] else { continue }
            guard let missing = progress.transitions(after: devices[index].lifecycle.last?.seq ?? 0) else { continue }
            for change in missing.changes { append(change, of: id, to: &states) }
            devices[index].lifecycle = missing.snapshot
            changed.append(devices[index])
        }
        try insert(states, into: "received_states", StateColumns.names)
        try write(changed)
        let known = try EventRows(client) { [addresses] in addresses[$0] }
            .known(among: ledger.openEvents.map(\.event.key))
        ledger.openEvents.removeAll { known.contains($0.event.key) }
        ledger.lastNumber = max(ledger.lastNumber, ledger.openEvents.map(\.event.id).max() ?? 0)
        try insertOpenEvents()
        // They are pending in the store now, like those of earlier events.
        ledger.openEvents = []
        try removeStoredTimes()
        findOutdatedStates()
    }

    /// Writes what was read again, with a version of this owner, and an empty row for each of its other devices. A row of an
    /// earlier owner that arrives later is then never the newest.
    private func renew(_ rows: [RecoveredRow]) throws(StoreError) {
        let version = nextVersion()
        var renewed = RowBinary()
        let known = Set(rows.map(\.id))
        for row in rows { try renewed.append(row.progress, of: row.id, row.address, version) }
        for record in devices where !known.contains(record.id) && token != nil {
            try renewed.append(RuleProgress(), of: record.id, record.address, version)
        }
        try insert(renewed, into: "received_rule_states", ClickHouseSchema.ruleStateColumns)
    }

    private typealias RecoveredRow = (id: Int64, address: DeviceAddress, progress: RuleProgress)

    /// Reads the newest row of each device of this owner.
    private func readProgress(owning owns: (DeviceAddress) -> Bool) throws(StoreError) -> [RecoveredRow] {
        var owned: [Int64: DeviceAddress] = [:]
        for (id, group, device) in try client.binary(
            "SELECT device_id, any(group_name), any(device) FROM received_rule_states GROUP BY device_id",
            { reader in (try reader.integer(), try reader.text(), try reader.text()) })
        {
            let address = DeviceAddress(group: GroupID(unchecked: group), device: DeviceID(unchecked: device))
            if owns(address) { owned[id] = address }
        }
        var rows: [RecoveredRow] = []
        for part in owned.keys.sorted().chunks(of: Self.progressLimit) {
            let contents = try client.binary(
                """
                SELECT device_id, argMax(content, version) FROM received_rule_states
                WHERE device_id IN (\(part.map { "\($0)" }.joined(separator: ", "))) GROUP BY device_id
                """
            ) { reader in (id: try reader.integer(), json: try reader.text()) }
            for (id, json) in contents {
                guard let address = owned[id] else { continue }
                rows.append((id, address, try RuleProgress(json: json, of: address)))
            }
        }
        return rows
    }

    /// The maximum number of devices whose rows are read at once. A row can be large.
    private static let progressLimit = 500

    /// Forgets the evaluated samples that are stored: they are found there when they arrive again.
    private func removeStoredTimes() throws(StoreError) {
        for (index, stream) in streams.enumerated() {
            var times: [SeriesKey: [Int64]] = [:]
            for (id, evaluated) in ledger.evaluated {
                guard let device = addresses[id].flatMap({ deviceIndexes[$0] }), let open = evaluated[stream.name]
                else {
                    continue
                }
                times[SeriesKey(device: device, stream: index)] = Array(open)
            }
            for (key, hashes) in try storedHashes(at: times) {
                ledger.evaluated[devices[key.device].id]?[stream.name]?.subtract(hashes.keys)
            }
        }
        ledger.evaluated = ledger.evaluated.mapValues { $0.filter { !$0.value.isEmpty } }.filter { !$0.value.isEmpty }
    }
}
