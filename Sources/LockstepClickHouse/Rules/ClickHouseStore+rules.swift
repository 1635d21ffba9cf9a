public import LockstepModel
public import LockstepStore

// Passing new rows to the observer, and writing what it concludes.

extension ClickHouseStore {
    /// Sets the observer of the following transactions, or removes it.
    public func setObserver(_ observer: (any IngestObserver)?) {
        self.observer = observer
        observed = streams.map { observer?.watches($0) ?? false }
        findOutdatedStates()
    }

    /// Finds the devices whose rows have states that no rule has any more.
    func findOutdatedStates() {
        ledger.outdated = []
        guard let observer else { return }
        for (id, states) in ledger.states where states.keys.contains(where: { !observer.keepsStates(named: $0) }) {
            ledger.outdated.insert(id)
        }
    }

    /// Returns the states that an observer has kept.
    public func observerStates() -> [ObserverState] {
        ledger.states.flatMap { id, states in
            addresses[id].map { device in
                states.map { ObserverState(rule: $0.key, device: device, json: $0.value) }
            } ?? []
        }
    }

    /// Returns the devices of this store's groups that are not forgotten, with their indexes as ids.
    public func deviceIDs() -> [(address: DeviceAddress, id: Int64)] {
        devices.enumerated().filter { collects($0.element.address) && !$0.element.lifecycle.isForgotten }
            .map { ($0.element.address, Int64($0.offset)) }
    }

    /// Returns the deliveries of this store's devices that are pending.
    /// - Throws: ``/LockstepStore/StoreError`` if the store cannot be read.
    public func pendingDeliveries() throws(StoreError) -> [EventDelivery] {
        let own = try EventRows(client) { [addresses] in addresses[$0] }.deliveries(.pending)
            // Events of no device are from an SQLite store, whose collector had its store to itself.
            .filter { $0.event.device.map(collects) ?? (token == nil && options.groups.isEmpty) }
        for delivery in own { ledger.deliveries[.init(delivery)] = (delivery.event.id, delivery.way) }
        return own
    }

    /// Returns whether this store's collector has a device. Other collectors may use the same database.
    func collects(_ device: DeviceAddress) -> Bool {
        options.groups.isEmpty || options.groups.contains(device.group)
    }

    func prepareObserver(_ run: SampleRun, device: Int, stream: Int) throws(StoreError) {
        do {
            try observer?.willWrite(run.samples.stream, of: Int64(device), run.device) {
                let id = devices[device].id
                let evaluated = ledger.evaluated[id]?[run.samples.stream.name]?.max()
                let stored = try newest[SeriesKey(device: device, stream: stream)] ?? nil ?? newestTime(device, stream)
                return [evaluated, stored].compactMap(\.self).max()
            }
        } catch { throw Self.storeError(error) }
    }

    /// Returns the time of the newest stored sample, also if it is older than all of the current group.
    private func newestTime(_ device: Int, _ stream: Int) throws(StoreError) -> Int64? {
        guard let last = devices[device].lastSample else { return nil }
        // The server reads all rows of the range, so that the whole history comes last.
        for span in [Int64(86_400_000_000), 31 * 86_400_000_000, .max] {
            let (start, overflows) = last.subtractingReportingOverflow(span)
            let extent = try client.extent(
                of: streams[stream].receivedTable,
                "device_id = \(devices[device].id) AND t >= \(overflows ? .min : start)")
            if let extent { return extent.upperBound }
        }
        return nil
    }

    /// Passes the transitions and the time of a group to the observer.
    func observe(_ group: IngestGroup) throws(StoreError) {
        guard let observer else { return }
        for entry in group.transitions {
            guard let device = deviceIndexes[entry.device] else { continue }
            // A commit that failed may have made it final: then it is in the ledger, and the observer knows it.
            let open = ledger.openTransitions[devices[device].id] ?? []
            guard !open.contains(where: { $0.seq == entry.transition.seq }) else { continue }
            transaction.transitions[devices[device].id, default: []].append(entry.transition)
            observer.didChange(entry.transition, of: Int64(device), entry.device)
        }
        for (device, snapshot) in group.lifecycles {
            guard let index = deviceIndexes[device] else { continue }
            observer.didUpdate(Int64(index), device, isForgotten: snapshot.isForgotten)
        }
        guard let tick = group.tick else { return }
        do { try observer.tick(tick) { try deliveryFigures() } } catch { throw Self.storeError(error) }
    }

    /// Returns the numbers of missing and dropped batches of this store's devices.
    private func deliveryFigures() throws(StoreError) -> [DeliveryFigures] {
        let own = deviceIDs()
        try loadNumbers(of: own.map { Int($0.id) }.filter { !loadedNumbers.contains($0) })
        var figures: [DeviceAddress: (missing: Int64, dropped: Int64)] = [:]
        for (number, key) in scopeKeys.enumerated() {
            let set = transaction.numbers[number] ?? numbers[number]
            let current = deviceIndexes[key.device].map { transaction.devices[$0] ?? devices[$0] }?.lifecycle.epoch
            let epoch = EpochVerification(set, of: key.epoch, isCurrent: current == key.epoch)
            figures[key.device, default: (0, 0)].missing += epoch.missing.count
            figures[key.device, default: (0, 0)].dropped += set.dropped.count
        }
        return own.map { address, id in
            let figure = figures[address] ?? (0, 0)
            return DeliveryFigures(
                device: id, address: address, missing: figure.missing, dropped: figure.dropped)
        }
    }

    /// Adds the results of deliveries and the acknowledgements of a group to the transaction.
    func addEvents(of group: IngestGroup) throws(StoreError) {
        for update in group.deliveries {
            let key = RuleLedger.DeliveryKey(update)
            guard let delivery = ledger.deliveries[key] else { continue }
            transaction.deliveries.append(
                EventDelivery.row(
                    update.id, delivery, update.state, attempts: update.attempts, due: update.due, error: update.error,
                    version: nextVersion(), device: update.device))
            if update.state != .pending { transaction.finishedDeliveries.append(key) }
        }
        for entry in group.acknowledgements {
            let rows = EventRows(client) { [addresses] in addresses[$0] }
            guard let event = try rows.event(entry.key) else { continue }
            // The first acknowledgement stays.
            if event.acknowledged == nil {
                transaction.acknowledgements.append(event.id)
                transaction.acknowledgements.append(entry.at.microseconds)
                transaction.acknowledgements.endRow()
            }
            transaction.acknowledged.append(
                StoredAcknowledgement(id: event.id, key: entry.key, acknowledged: event.acknowledged ?? entry.at))
        }
    }

    private static func storeError(_ error: any Error) -> StoreError {
        error as? StoreError ?? StoreError(.other, "\(error)")
    }
}

extension EventDelivery {
    /// Returns the row for `received_deliveries`.
    static func row(
        _ id: Int64, _ delivery: (event: Int64, way: String), _ state: EventDelivery.State, attempts: Int,
        due: Timestamp, error: String?, version: UInt64, device: DeviceAddress?
    ) -> RowBinary {
        var row = RowBinary()
        row.append(id)
        row.append(delivery.event)
        row.append(delivery.way)
        row.append(state.rawValue)
        row.append(Int64(attempts))
        row.append(due.microseconds)
        row.append(error)
        row.append(version)
        row.append(device.map(DeviceRecord.id) ?? ClickHouseSchema.noDevice)
        row.endRow()
        return row
    }
}

extension RuleLedger.DeliveryKey {
    init(_ delivery: EventDelivery) { self.init(id: delivery.id, device: delivery.event.device) }
    init(_ update: DeliveryUpdate) { self.init(id: update.id, device: update.device) }
}
