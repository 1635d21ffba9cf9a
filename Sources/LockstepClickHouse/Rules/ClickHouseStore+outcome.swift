import LockstepModel
import LockstepStore

// Committing what rules conclude.
//
// The row of a device in received_rule_states is the commit: it has the states, the events, and the samples that they
// follow from. It is written before these samples. If it is not stored, nothing is, and the samples are evaluated again.
// If it is, they are not evaluated again, although they may have to be inserted again.

extension ClickHouseStore {
    /// Writes the outcome of a transaction. When this returns, it is final: if the rest of the transaction fails, the store
    /// keeps the events and transitions for the next one, and the samples are not evaluated again.
    func conclude(_ outcome: ObservedOutcome, _ transaction: Transaction) throws(StoreError) {
        let events = try number(try new(outcome.events))
        var states: [Int64: [String: String]] = [:]
        for state in outcome.states {
            guard let device = state.device.flatMap({ deviceIndexes[$0] }) else { continue }
            states[devices[device].id, default: [:]][state.rule] = state.json
        }
        let changed = Set(states.keys).union(events.map(\.device))
        // Also those of devices whose rules have not changed.
        var evaluated = ledger.evaluated
        for (id, streams) in transaction.evaluated {
            evaluated[id, default: [:]].merge(streams.mapValues { Set($0) }) { $0.union($1) }
        }
        let version = nextVersion()
        var rows = RowBinary()
        var transitions: [Int64: [LifecycleTransition]] = [:]
        var lifecycles: [Int: LifecycleSnapshot] = [:]
        for id in changed.sorted() {
            guard let address = addresses[id], let device = deviceIndexes[address] else { continue }
            var progress = RuleProgress()
            progress.states = currentStates(of: id).merging(states[id] ?? [:]) { $1 }
            states[id] = progress.states
            // The row replaces an earlier one whose events and samples may not be stored yet.
            progress.events = (ledger.openEvents + events).filter { $0.device == id }
                .map { RuleProgress.Event($0.event.event, id: $0.event.id) }
            progress.evaluatedTimes = evaluated[id] ?? [:]
            let open = (ledger.openTransitions[id] ?? []) + (transaction.transitions[id] ?? [])
            if !open.isEmpty {
                transitions[id] = open
                lifecycles[device] = transaction.devices[device]?.lifecycle ?? devices[device].lifecycle
            }
            progress.setTransitions(open, lifecycles[device] ?? devices[device].lifecycle)
            try rows.append(progress, of: id, address, version)
        }
        try insert(rows, into: "received_rule_states", ClickHouseSchema.ruleStateColumns)
        for id in changed { ledger.states[id] = states[id] }
        ledger.outdated.subtract(changed)
        ledger.evaluated = evaluated
        ledger.openEvents += events
        ledger.openTransitions.merge(transitions) { $1 }
        for (device, lifecycle) in lifecycles { devices[device].lifecycle = lifecycle }
        if token != nil { ledger.unchecked.formUnion(changed.compactMap { addresses[$0] }) }
    }

    /// Returns the states of the rules that still exist.
    private func currentStates(of id: Int64) -> [String: String] {
        let states = ledger.states[id] ?? [:]
        guard let observer, ledger.outdated.contains(id) else { return states }
        return states.filter { observer.keepsStates(named: $0.key) }
    }

    /// The maximum number of devices from whose rows a commit removes states.
    private static let maxOutdated = 500

    /// Writes the rows of some devices again, without the states of rules that were edited or removed.
    func removeOutdatedStates() throws(StoreError) {
        guard observer != nil, !ledger.outdated.isEmpty else { return }
        let version = nextVersion()
        var rows = RowBinary()
        var removed: [Int64: [String: String]] = [:]
        for id in ledger.outdated.sorted().prefix(Self.maxOutdated) {
            removed[id] = currentStates(of: id)
            guard let address = addresses[id], let device = deviceIndexes[address] else { continue }
            var progress = RuleProgress()
            progress.states = removed[id] ?? [:]
            // What may not be stored yet stays.
            progress.events = ledger.openEvents.filter { $0.device == id }
                .map { RuleProgress.Event($0.event.event, id: $0.event.id) }
            progress.evaluatedTimes = ledger.evaluated[id] ?? [:]
            progress.setTransitions(ledger.openTransitions[id] ?? [], devices[device].lifecycle)
            try rows.append(progress, of: id, address, version)
        }
        try insert(rows, into: "received_rule_states", ClickHouseSchema.ruleStateColumns)
        for (id, states) in removed { ledger.states[id] = states }
        ledger.outdated.subtract(removed.keys)
    }

    /// Writes an empty row for each new device of the transaction, with the token. Otherwise, a row of an earlier owner that
    /// arrives later would be the newest, and the next owner would continue with it. Others are written by
    /// ``recoverRules(owning:)``.
    func fenceNewDevices(of transaction: Transaction) throws(StoreError) {
        guard token != nil else { return }
        let version = nextVersion()
        var rows = RowBinary()
        for index in transaction.devices.keys.sorted() where devices[index].firstSeen == nil {
            let record = devices[index]
            // It has a row if an earlier transaction failed later.
            guard ledger.states[record.id] == nil else { continue }
            try rows.append(RuleProgress(), of: record.id, record.address, version)
        }
        try insert(rows, into: "received_rule_states", ClickHouseSchema.ruleStateColumns)
    }

    /// Appends the transitions that earlier transactions have committed and not stored.
    /// - Returns: the indexes of their devices.
    func appendOpenTransitions(
        _ open: [Int64: [LifecycleTransition]], to rows: inout RowBinary
    ) -> [Int] {
        for (id, changes) in open {
            for change in changes { append(change, of: id, to: &rows) }
        }
        return open.keys.compactMap { addresses[$0].flatMap { deviceIndexes[$0] } }
    }

    /// Returns the events that are neither stored nor committed.
    private func new(_ events: [RuleEvent]) throws(StoreError) -> [RuleEvent] {
        guard !events.isEmpty else { return [] }
        var known = Set(ledger.openEvents.map(\.event.key))
        known.formUnion(try EventRows(client) { [addresses] in addresses[$0] }.known(among: events.map(\.key)))
        return events.filter { $0.device != nil && known.insert($0.key).inserted }
    }

    private func number(_ events: [RuleEvent]) throws(StoreError) -> [(device: Int64, event: StoredEvent)] {
        let now = Moment.now().wall
        return events.compactMap { event in
            guard let device = event.device.flatMap({ deviceIndexes[$0] }) else { return nil }
            let number = ledger.nextNumber(for: event.key, at: now)
            return (devices[device].id, StoredEvent(id: number, event: event))
        }
    }

    /// Checks that no later owner has taken over the devices whose outcomes were written.
    ///
    /// A later owner first writes its token and then reads the outcomes. So either it has found this one, or its token is
    /// found here, and then no sample may be stored without the events that follow from it.
    func checkOwnership() throws(StoreError) {
        guard token != nil, !ledger.unchecked.isEmpty else { return }
        // A device that was never written has no token. Then those of the others tell whether the share was taken over.
        let isNew = ledger.unchecked.contains { deviceIndexes[$0].map { devices[$0].firstSeen == nil } ?? true }
        try checkOwnership(of: Set(ledger.unchecked.union(isNew ? devices.map(\.address) : []).map(DeviceRecord.id)))
        ledger.unchecked = []
    }

    /// Checks that no later owner has taken over the devices with these ids.
    func checkOwnership(of devices: Set<Int64>) throws(StoreError) {
        guard let token else { return }
        for part in devices.map({ "\($0)" }).chunks(of: 500) {
            // A replica may not have the token of a later owner yet.
            let newest = try client.rows(
                "SELECT max(version) FROM received_devices WHERE device_id IN (\(part.joined(separator: ", ")))",
                complete: "received_devices")
            guard let version = newest.first?[0].flatMap({ UInt64($0) }) else { continue }
            guard version >> 32 <= UInt64(token.rawValue) else {
                throw StoreError(.other, "another collector has taken over the devices: this one claims them again")
            }
        }
    }

    /// Inserts the rows of committed events and of their notifications. Notifications come first, so that an event that is
    /// found has all of them.
    func insertOpenEvents() throws(StoreError) {
        guard !ledger.openEvents.isEmpty else { return }
        var (events, deliveries) = (RowBinary(), RowBinary())
        for (device, event) in ledger.openEvents {
            events.append(event, of: device)
            for delivery in event.newDeliveries {
                // Results of attempts have higher versions.
                deliveries.append(
                    EventDelivery.row(
                        delivery.id, (event.id, delivery.way), .pending, attempts: 0, due: delivery.due, error: nil,
                        version: 0, device: event.device))
            }
        }
        try insert(deliveries, into: "received_deliveries", ClickHouseSchema.deliveryColumns)
        try insert(events, into: "received_events", ClickHouseSchema.eventColumns)
    }

    /// Ends the commit of events.
    /// - Returns: the new notifications.
    func settleEvents(of transaction: Transaction) -> [EventDelivery] {
        let deliveries = ledger.openEvents.flatMap(\.event.newDeliveries)
        ledger.openEvents = []
        ledger.openTransitions = [:]
        for delivery in deliveries { ledger.deliveries[.init(delivery)] = (delivery.event.id, delivery.way) }
        for key in transaction.finishedDeliveries { ledger.deliveries[key] = nil }
        // The samples are stored now, so that they are known without this.
        for (id, streams) in ledger.evaluated {
            var rest = streams
            for (stream, times) in transaction.resolved[id] ?? [:] { rest[stream]?.subtract(times) }
            for (stream, times) in transaction.evaluated[id] ?? [:] { rest[stream]?.subtract(times) }
            rest = rest.filter { !$0.value.isEmpty }
            ledger.evaluated[id] = rest.isEmpty ? nil : rest
        }
        return deliveries
    }
}

extension RowBinary {
    /// Appends a row for `received_rule_states`.
    mutating func append(
        _ progress: RuleProgress, of id: Int64, _ address: DeviceAddress, _ version: UInt64
    ) throws(StoreError) {
        let json = try progress.json
        append(id)
        append(address.group.rawValue)
        append(address.device.rawValue)
        append(json)
        append(version)
        endRow()
    }

    /// Appends a row for `received_events`.
    /// - Parameter device: the id of the device; 0 for the collector's machine.
    mutating func append(_ event: StoredEvent, of device: Int64) {
        append(event.id)
        append(event.rule)
        append(device)
        append(event.time.microseconds)
        append(event.at.microseconds)
        append(event.value)
        append(event.text)
        append(Int64(event.isLate ? 1 : 0))
        append(event.severity.rawValue)
        endRow()
    }

    /// Appends other rows of the same table.
    mutating func append(_ rows: RowBinary) {
        bytes += rows.bytes
        count += rows.count
    }
}
