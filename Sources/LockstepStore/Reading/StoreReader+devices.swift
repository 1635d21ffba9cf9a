public import LockstepModel
import LockstepSQLite

/// A device at a glance.
public struct DeviceSummary: Hashable, Sendable {
    public let address: DeviceAddress
    /// Nil for a device that never showed a sign of life, such as one that only sent backlog.
    public let state: LifecycleState?
    /// Since when it is in this state.
    public let since: Timestamp?
    /// When the collector first heard of it, on the collector's clock.
    public let firstSeen: Timestamp?
    /// When the collector last heard of it, on the collector's clock.
    public let lastSeen: Timestamp?
    /// Time of its newest sample, on the device's time line.
    public let lastSample: Timestamp?
    /// Samples stored, over all streams.
    public let samples: Int64
    /// Samples that came again with the same values.
    public let duplicates: Int64
    /// Samples that came again with other values.
    public let conflicts: Int64
    /// Batches neither received nor dropped, below one that is, over all epochs.
    public let gaps: Int64
    /// Batches that the agent dropped and that were never received, over all epochs.
    public let dropped: Int64
}

extension StoreReader {
    /// Every device, by group and name.
    /// - Throws: ``StoreError``
    public func devices() throws(StoreError) -> [DeviceSummary] {
        try reading {
            let batches = try epochs()
            let select = try database.prepare(
                """
                SELECT group_name, device, state, since, first_seen, last_seen, last_t, samples, duplicates,
                    conflicts, device_id
                FROM devices ORDER BY group_name, device
                """)
            var devices: [DeviceSummary] = []
            while try select.step() {
                guard let address = deviceAddress(select, at: 0) else { continue }
                let epochs = batches[select.int64(at: 10)] ?? []
                devices.append(
                    DeviceSummary(
                        address: address, state: select.text(at: 2).flatMap(LifecycleState.init),
                        since: timestamp(select, at: 3), firstSeen: timestamp(select, at: 4),
                        lastSeen: timestamp(select, at: 5), lastSample: timestamp(select, at: 6),
                        samples: select.int64(at: 7), duplicates: select.int64(at: 8), conflicts: select.int64(at: 9),
                        gaps: epochs.reduce(0) { $0 + $1.gaps.count },
                        dropped: epochs.reduce(0) { $0 + $1.dropped.count }))
            }
            return devices
        }
    }

    /// The batch numbers of each device, by the device's number.
    func epochs() throws(SQLiteError) -> [Int64: [EpochVerification]] {
        let received = try ranges(in: "batches")
        let dropped = try ranges(in: "dropped")
        var result: [Int64: [EpochVerification]] = [:]
        for device in Set(received.keys).union(dropped.keys) {
            let epochs = Set((received[device] ?? [:]).keys).union((dropped[device] ?? [:]).keys)
            result[device] = epochs.sorted().map { epoch in
                EpochVerification(
                    epoch: epoch, received: received[device]?[epoch] ?? SequenceSet(),
                    agentDropped: dropped[device]?[epoch] ?? SequenceSet())
            }
        }
        return result
    }
}
