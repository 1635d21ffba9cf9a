public import LockstepModel
import LockstepSQLite

/// The stored data of one device.
public struct DeviceVerification: Hashable, Sendable {
    /// The address of the device.
    public let address: DeviceAddress
    /// The batch numbers of each epoch, ordered by epoch id.
    public let epochs: [EpochVerification]
    /// The number of stored samples of all streams, as the store has counted them.
    public let stored: Int64
    /// The number of samples of each stream that has samples, in the order of the store's ``/LockstepModel/StreamCatalog``,
    /// or nothing if they were not counted.
    public let samples: [StreamCount]
    /// The number of conflicting samples that are kept, or that the store has counted.
    public let conflicts: Int64

    package init(
        address: DeviceAddress, epochs: [EpochVerification], stored: Int64, samples: [StreamCount], conflicts: Int64
    ) {
        self.address = address
        self.epochs = epochs
        self.stored = stored
        self.samples = samples
        self.conflicts = conflicts
    }

    /// The number of samples of one stream.
    public struct StreamCount: Hashable, Sendable {
        /// The stream.
        public let stream: SensorStream
        /// The number of samples.
        public let count: Int64

        package init(stream: SensorStream, count: Int64) {
            self.stream = stream
            self.count = count
        }
    }
}

/// The batch numbers of one epoch of a device.
public struct EpochVerification: Hashable, Sendable {
    /// The epoch.
    public let epoch: Epoch
    /// The received batches.
    public let received: SequenceSet
    /// The batches that the agent dropped and that were never received.
    public let dropped: SequenceSet
    /// The batches that are not stored: batches below the highest known number that were neither received nor dropped. Each
    /// is missing, on its way, or from before this store.
    public let gaps: SequenceSet
    /// The batches that are not stored and that the device no longer has.
    public let missing: SequenceSet
    /// The batches that are not stored yet: the device still has them, as far as it has reported.
    public let onItsWay: SequenceSet
    /// The batches that other stores received before this store knew the device. See ``EpochReport``.
    public let earlier: SequenceSet
    /// What is stored of the device's reports, or nil.
    package let report: EpochReport?

    /// - Parameters:
    ///   - isCurrent: whether it is the epoch of the device's newest presence.
    ///   - report: what is stored of the device's reports, or nil.
    package init(
        epoch: Epoch, received: SequenceSet, agentDropped: SequenceSet, isCurrent: Bool = false,
        report: EpochReport? = nil
    ) {
        self.epoch = epoch
        self.received = received
        self.report = report
        // If an acknowledgement is lost, the agent may drop a batch that was received.
        dropped = agentDropped.subtracting(received)
        let gaps = received.union(agentDropped).gaps
        self.gaps = gaps
        // A device that reports nothing may have nothing.
        missing = report.map { gaps.intersection($0.gone) } ?? (isCurrent ? SequenceSet() : gaps)
        earlier = report.map { gaps.intersection($0.before) } ?? SequenceSet()
        onItsWay = gaps.subtracting(missing).subtracting(earlier)
    }
}

extension StoreReader {
    /// Returns the stored data of devices, ordered by group and device.
    /// - Parameters:
    ///   - devices: the devices to verify, or nil for every device. Devices that are not stored are ignored.
    ///   - counting: whether to count the samples of each stream. That reads the keys of all samples, so its duration grows
    ///     with the store.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func verification(
        devices: Set<DeviceAddress>? = nil, counting: Bool = true
    ) throws(StoreError) -> [DeviceVerification] {
        try reading {
            let epochs = try epochs()
            let conflicts = try counts(in: "conflicts")
            let stored = try storedCounts()
            let samples = try (counting ? StreamTable.catalog(in: database).streams : []).map { stream in
                (stream: stream, counts: try sampleCounts(of: stream))
            }
            return try numberedDevices().filter { devices?.contains($0.address) ?? true }.map { device in
                DeviceVerification(
                    address: device.address, epochs: epochs[device.id] ?? [], stored: stored[device.id] ?? 0,
                    samples: samples.compactMap { table in
                        table.counts[device.id].map { .init(stream: table.stream, count: $0) }
                    },
                    conflicts: conflicts[device.id] ?? 0)
            }
        }
    }

    /// Returns the counted samples of all streams per device id.
    private func storedCounts() throws(SQLiteError) -> [Int64: Int64] {
        let select = try database.prepare("SELECT device_id, samples FROM devices")
        var counts: [Int64: Int64] = [:]
        while try select.step() { counts[select.int64(at: 0)] = select.int64(at: 1) }
        return counts
    }

    /// Returns the number of samples of a stream per device id.
    private func sampleCounts(of stream: SensorStream) throws(SQLiteError) -> [Int64: Int64] {
        try counts(in: stream.rowTable).merging(waiting.stream(stream)?.counts() ?? [:], uniquingKeysWith: +)
    }

    /// Returns the number of rows per device id, or an empty dictionary if the table does not exist.
    private func counts(in table: String) throws(SQLiteError) -> [Int64: Int64] {
        guard try !StoreSchema.columns(of: table, in: database).isEmpty else { return [:] }
        let select = try database.prepare("SELECT device_id, count(*) FROM \(table) GROUP BY device_id")
        var counts: [Int64: Int64] = [:]
        while try select.step() { counts[select.int64(at: 0)] = select.int64(at: 1) }
        return counts
    }
}
