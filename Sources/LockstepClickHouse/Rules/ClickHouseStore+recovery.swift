import LockstepModel
import LockstepStore

// Continuing from what rules have concluded before this store was opened or its devices were taken over.

extension ClickHouseStore {
    /// Reads the states of rules, and stores the events and transitions that an earlier owner has committed but not stored.
    /// - Parameter owns: returns whether a device belongs to this owner.
    func recoverRules(owning owns: (DeviceAddress) -> Bool) throws(StoreError) {
        ledger = RuleLedger()
        client.requireEverything()
        let newest = try client.rows("SELECT max(event_id) FROM received_events").first?[0].flatMap { Int64($0) }
        ledger.lastNumber = newest ?? 0
        var states = RowBinary()
        var changed: [DeviceRecord] = []
        for (id, address, progress) in try readProgress() where owns(address) {
            ledger.states[id] = progress.states
            ledger.evaluated[id] = progress.evaluatedTimes
            ledger.openEvents += progress.events.map { (id, $0.stored(of: address)) }
            // The row of a new device comes after this one.
            if deviceIndexes[address] == nil { try register(DeviceRecord(address)) }
            guard let index = deviceIndexes[address] else { continue }
            guard let missing = progress.transitions(after: devices[index].lifecycle.last?.seq ?? 0) else { continue }
            for change in missing.changes { append(change, of: id, to: &states) }
            devices[index].lifecycle = missing.snapshot
            changed.append(devices[index])
        }
        try insert(states, into: "received_states", StateColumns.names)
        try write(changed)
        let known = try EventRows(client: client) { [addresses] in addresses[$0] }
            .known(among: ledger.openEvents.map(\.event.key))
        ledger.openEvents.removeAll { known.contains($0.event.key) }
        ledger.lastNumber = max(ledger.lastNumber, ledger.openEvents.map(\.event.id).max() ?? 0)
        try insertOpenEvents()
        // They are pending in the store now, like those of earlier events.
        ledger.openEvents = []
        try removeStoredTimes()
    }

    private func readProgress() throws(StoreError) -> [(id: Int64, address: DeviceAddress, RuleProgress)] {
        var reader = RowBinaryReader(
            try client.binary(
                """
                SELECT device_id, latest.1, latest.2, latest.3 FROM (
                SELECT device_id, argMax((group_name, device, content), version) AS latest
                FROM received_rule_states GROUP BY device_id)
                """))
        var rows: [(Int64, DeviceAddress, RuleProgress)] = []
        while !reader.isAtEnd {
            let (id, group, device, json): (Int64, String, String, String)
            do {
                (id, group, device, json) = (
                    try reader.integer(), try reader.text(), try reader.text(), try reader.text()
                )
            } catch { throw StoreError(.corrupt, "the server sent an incomplete row of received_rule_states") }
            guard let group = GroupID(rawValue: group), let device = DeviceID(rawValue: device) else {
                throw StoreError(.corrupt, "a row of received_rule_states is damaged: '\(group)/\(device)'")
            }
            let address = DeviceAddress(group: group, device: device)
            rows.append((id, address, try RuleProgress(json: json, of: address)))
        }
        return rows
    }

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
