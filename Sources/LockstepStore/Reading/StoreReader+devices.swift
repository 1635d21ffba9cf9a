public import LockstepModel
import LockstepSQLite

/// A summary of one device.
public struct DeviceSummary: Hashable, Sendable {
    /// The address of the device.
    public let address: DeviceAddress
    /// The life-cycle state, or nil if it is still unknown, for example because the device has only sent backlog.
    public let state: LifecycleState?
    /// The time of the last change of the state, or nil if the state is unknown.
    public let since: Timestamp?
    /// The time of the first message of the device, on the collector's clock.
    public let firstSeen: Timestamp?
    /// The time of the last message of the device, on the collector's clock.
    public let lastSeen: Timestamp?
    /// The time of the newest sample, on the device's time line.
    public let lastSample: Timestamp?
    /// The number of stored samples in all streams.
    public let samples: Int64
    /// The number of samples that were received again with the same values.
    public let duplicates: Int64
    /// The number of samples that were received again with different values.
    public let conflicts: Int64
    /// The number of missing batches in all epochs: batches below the highest known number that are neither stored nor
    /// dropped, and that the device no longer has.
    public let missing: Int64
    /// The number of batches in all epochs that are not stored yet: the device still has them, as far as it has reported.
    public let onItsWay: Int64
    /// The number of batches in all epochs that the agent dropped and that were never received.
    public let dropped: Int64
    /// Whether a person has asked to forget the device, and it has sent nothing since. Its samples are still stored.
    public let isForgotten: Bool

    package init(
        address: DeviceAddress, state: LifecycleState?, since: Timestamp?, firstSeen: Timestamp?, lastSeen: Timestamp?,
        lastSample: Timestamp?, samples: Int64, duplicates: Int64, conflicts: Int64, epochs: [EpochVerification],
        isForgotten: Bool
    ) {
        self.address = address
        self.state = state
        self.since = since
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
        self.lastSample = lastSample
        self.samples = samples
        self.duplicates = duplicates
        self.conflicts = conflicts
        missing = epochs.reduce(0) { $0 + $1.missing.count }
        onItsWay = epochs.reduce(0) { $0 + $1.onItsWay.count }
        dropped = epochs.reduce(0) { $0 + $1.dropped.count }
        self.isForgotten = isForgotten
    }
}

extension StoreReader {
    /// Returns a summary of every device, ordered by group and device id.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func devices() throws(StoreError) -> [DeviceSummary] {
        try reading { try summaries().map(\.summary) }
    }

    /// Returns the summaries of all devices or of one, with their ids, ordered by group and device id.
    func summaries(of device: Int64? = nil) throws(SQLiteError) -> [(id: Int64, summary: DeviceSummary)] {
        let batches = try epochs(of: device)
        let select = try database.prepare(
            """
            SELECT group_name, device, state, since, first_seen, last_seen, last_t, samples, duplicates,
                conflicts, device_id, phase
            FROM devices \(device == nil ? "" : "WHERE device_id = ?1") ORDER BY group_name, device
            """)
        if let device { try select.bind(device, at: 1) }
        var devices: [(id: Int64, summary: DeviceSummary)] = []
        while try select.step() {
            guard let address = deviceAddress(select, at: 0) else { continue }
            let id = select.int64(at: 10)
            let epochs = batches[id] ?? []
            devices.append(
                (
                    id,
                    DeviceSummary(
                        address: address, state: select.text(at: 2).flatMap(LifecycleState.init),
                        since: timestamp(select, at: 3),
                        firstSeen: timestamp(select, at: 4), lastSeen: timestamp(select, at: 5),
                        lastSample: timestamp(select, at: 6), samples: select.int64(at: 7),
                        duplicates: select.int64(at: 8), conflicts: select.int64(at: 9),
                        epochs: epochs,
                        isForgotten: select.text(at: 11) == LifecycleSnapshot.forgottenPhase)
                ))
        }
        return devices
    }

    /// Returns the batch numbers of all devices or of one, keyed by the device's id in the store.
    func epochs(of device: Int64? = nil) throws(SQLiteError) -> [Int64: [EpochVerification]] {
        let received = try ranges(in: "batches", of: device)
        let dropped = try ranges(in: "dropped", of: device)
        let reports = try EpochReportTable.read(of: device, in: database)
        let current = try currentEpochs(of: device)
        var result: [Int64: [EpochVerification]] = [:]
        for device in Set(received.keys).union(dropped.keys) {
            let epochs = Set((received[device] ?? [:]).keys).union((dropped[device] ?? [:]).keys)
            result[device] = epochs.sorted().map { epoch in
                EpochVerification(
                    epoch: epoch, received: received[device]?[epoch] ?? SequenceSet(),
                    agentDropped: dropped[device]?[epoch] ?? SequenceSet(), isCurrent: current[device] == epoch,
                    report: reports[device]?[epoch])
            }
        }
        return result
    }

    /// Returns the epoch of the newest presence of all devices or of one, by the device's id in the store.
    private func currentEpochs(of device: Int64?) throws(SQLiteError) -> [Int64: Epoch] {
        let select = try database.prepare(
            """
            SELECT device_id, session_epoch FROM _devices
            WHERE session_epoch IS NOT NULL \(device == nil ? "" : "AND device_id = ?1")
            """)
        if let device { try select.bind(device, at: 1) }
        var epochs: [Int64: Epoch] = [:]
        while try select.step() {
            if let epoch = select.text(at: 1) { epochs[select.int64(at: 0)] = Epoch(unchecked: epoch) }
        }
        return epochs
    }
}
