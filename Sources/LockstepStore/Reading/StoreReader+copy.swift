package import LockstepModel
import LockstepSQLite

/// Everything that a store knows of a device, besides its samples.
package struct StoredDevice: Sendable {
    /// The counts and times.
    package let summary: DeviceSummary
    /// The life cycle.
    package let lifecycle: LifecycleSnapshot
    /// The batch numbers.
    package let epochs: [EpochVerification]
}

extension StoreReader {
    /// Returns everything that the store knows of its devices, besides their samples, ordered by group and device.
    package func storedDevices() throws(StoreError) -> [StoredDevice] {
        try reading {
            let lifecycles = try LifecycleTable(in: database).read()
            let epochs = try epochs()
            return try summaries().map { id, summary in
                StoredDevice(
                    summary: summary, lifecycle: lifecycles[summary.address] ?? LifecycleSnapshot(),
                    epochs: epochs[id] ?? [])
            }
        }
    }
}

/// A conflict in a store: a sample with the time of a stored one and other values.
package struct StoredConflict: Sendable {
    /// The device.
    package let device: DeviceAddress
    /// The name of the stream.
    package let stream: String
    /// The time of the sample, in µs since 1970.
    package let time: Int64
    /// The values, as a JSON object.
    package let values: String
    /// The time of receipt, on the collector's clock.
    package let receivedAt: Timestamp
}

extension StoreReader {
    /// Returns all estimates of the clock of a device.
    package func storedClocks(of device: DeviceAddress) throws(StoreError) -> [DeviceClock] {
        try reading {
            guard let id = try id(of: device) else { return [] }
            let select = try database.prepare(
                """
                SELECT collector, t, segment, offset, skew, bound, skew_bound, epoch FROM clocks
                WHERE device_id = ? ORDER BY t
                """)
            try select.bind(id, at: 1)
            var clocks: [DeviceClock] = []
            while try select.step() {
                guard let epoch = select.text(at: 7).flatMap({ Epoch(rawValue: $0) }) else { continue }
                clocks.append(DeviceClock(device: device, epoch: epoch, point: clockPoint(select, at: 0)))
            }
            return clocks
        }
    }

    /// Returns all stored conflicts of a device.
    package func storedConflicts(of device: DeviceAddress) throws(StoreError) -> [StoredConflict] {
        try reading {
            guard let id = try id(of: device) else { return [] }
            let select = try database.prepare(
                "SELECT stream, t, received, at FROM conflicts WHERE device_id = ? ORDER BY stream, t")
            try select.bind(id, at: 1)
            var conflicts: [StoredConflict] = []
            while try select.step() {
                conflicts.append(
                    StoredConflict(
                        device: device, stream: select.text(at: 0) ?? "", time: select.int64(at: 1),
                        values: select.text(at: 2) ?? "", receivedAt: Timestamp(microseconds: select.int64(at: 3))))
            }
            return conflicts
        }
    }

    /// Returns the rejected messages since a time, oldest first.
    package func rejectedMessages(since time: Timestamp) throws(StoreError) -> [RejectedMessage] {
        try reading {
            let select = try database.prepare(
                "SELECT at, topic, reason, size, head FROM rejected WHERE at >= ? ORDER BY id")
            try select.bind(time.microseconds, at: 1)
            var messages: [RejectedMessage] = []
            while try select.step() {
                messages.append(
                    RejectedMessage(
                        at: Timestamp(microseconds: select.int64(at: 0)), topic: select.text(at: 1) ?? "",
                        reason: select.text(at: 2) ?? "", size: Int(select.int64(at: 3)),
                        head: select.bytes(at: 4) ?? []))
            }
            return messages
        }
    }

    /// Returns the events that follow an event, with their deliveries at the same time, oldest first.
    /// - Parameter number: the number of the last event that was read; 0 for the first ones.
    package func storedEvents(
        after number: Int64, limit: Int
    ) throws(StoreError) -> (events: [StoredEvent], deliveries: [EventDelivery]) {
        try reading {
            let select = try database.prepare(
                """
                SELECT \(EventTable.columns) FROM events LEFT JOIN _devices USING (device_id)
                WHERE events.event_id > ? ORDER BY events.event_id LIMIT ?
                """)
            try select.bind(number, at: 1)
            try select.bind(Int64(limit), at: 2)
            var events: [StoredEvent] = []
            while try select.step() { events.append(EventTable.event(select, from: 0)) }
            guard let first = events.first, let last = events.last else { return ([], []) }
            return (events, try EventTable.deliveries(of: first.id...last.id, in: database))
        }
    }

    /// Returns the states that rules have kept.
    package func ruleStates() throws(StoreError) -> [ObserverState] {
        try reading { try EventTable.states(in: database) }
    }
}
