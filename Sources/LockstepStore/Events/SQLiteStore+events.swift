public import LockstepModel
import LockstepSQLite

// Passing new rows to the observer, and writing what it adds.

extension SQLiteStore {
    /// Sets the observer of the following transactions, or removes it.
    public func setObserver(_ observer: (any IngestObserver)?) {
        self.observer = observer
        observed = tables.map { observer?.watches($0.stream) ?? false }
    }

    /// Returns the states that an observer has kept.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func observerStates() throws -> [ObserverState] {
        try EventTable.states(SQLiteSource(database))
    }

    /// Returns the deliveries that are pending.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func pendingDeliveries() throws -> [EventDelivery] {
        try EventRows(SQLiteSource(database)).deliveries(.pending)
    }

    /// Returns the ids of all devices that are not forgotten.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func deviceIDs() throws -> [(address: DeviceAddress, id: Int64)] {
        do {
            let select = try database.prepare(
                """
                SELECT group_name, device, device_id FROM _devices
                WHERE phase IS NOT '\(LifecycleSnapshot.forgottenPhase)'
                """)
            var devices: [(DeviceAddress, Int64)] = []
            while try select.step() {
                if let address = deviceAddress(select, at: 0) { devices.append((address, select.int64(at: 2))) }
            }
            return devices
        } catch { throw StoreError(error, path: path) }
    }

    /// Passes new rows of a run to the observer.
    func observe(_ ranges: [Range<Int>], of run: SampleRun, device: Int64) {
        for range in ranges { observer?.didWrite(range, of: run, device: device) }
    }

    /// Prepares the observer for the samples of a run.
    func prepareObserver(_ run: SampleRun, table: Int, device: Int64) throws {
        try observer?.willWrite(run.samples.stream, of: device, run.device) {
            let newest = try tables[table].newestTime(of: device, waiting, table)
            return newest == .min ? nil : newest
        }
    }

    /// Passes the rest of a group to the observer, and writes the results of deliveries.
    func observe(_ group: IngestGroup) throws {
        for update in group.deliveries { try events.write(update) }
        for entry in group.acknowledgements {
            let device = entry.key.device.map { devices.find($0) ?? -1 }
            if let stored = try events.write(entry, device: device ?? 0) { acknowledged.append(stored) }
        }
        guard let observer else { return }
        for entry in group.transitions {
            observer.didChange(
                entry.transition, of: devices.id(of: entry.device), entry.device)
        }
        for (device, snapshot) in group.lifecycles {
            observer.didUpdate(devices.id(of: device), device, isForgotten: snapshot.isForgotten)
        }
        if let tick = group.tick { try observer.tick(tick) { try deliveryFigures() } }
    }

    /// Writes the events and states of the observer.
    /// - Returns: the new deliveries.
    func writeOutcome() throws -> [EventDelivery] {
        guard let observer else { return [] }
        let outcome = observer.takeOutcome()
        var deliveries: [EventDelivery] = []
        for event in outcome.events {
            let device = event.device.map { devices.id(of: $0) } ?? 0
            deliveries += try events.write(event, device: device, in: database)
        }
        for state in outcome.states { try events.write(state) }
        return deliveries
    }

    private func deliveryFigures() throws -> [DeliveryFigures] {
        let select = try database.prepare(
            """
            SELECT _devices.device_id, group_name, device, ifnull(missing, 0), ifnull(lost, 0)
            FROM _devices
            LEFT JOIN (SELECT group_name, device, sum(missing) AS missing FROM v_gaps GROUP BY group_name, device)
                USING (group_name, device)
            LEFT JOIN (SELECT device_id, sum(last - first + 1) AS lost FROM dropped GROUP BY device_id) AS dropped
                ON dropped.device_id = _devices.device_id
            """)
        var figures: [DeliveryFigures] = []
        while try select.step() {
            guard let address = deviceAddress(select, at: 1) else { continue }
            figures.append(
                DeliveryFigures(
                    device: select.int64(at: 0), address: address, missing: select.int64(at: 3),
                    dropped: select.int64(at: 4)))
        }
        return figures
    }
}
