public import LockstepModel

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

/// Everything that a store knows of a device, besides its samples.
package struct StoredDevice: Sendable {
    /// The counts, the times and the life cycle.
    package let record: DeviceRecord
    /// The batch numbers, ordered by epoch.
    package let epochs: [EpochVerification]

    /// What users see of it.
    package var summary: DeviceSummary {
        DeviceSummary(
            address: record.address, state: record.lifecycle.last?.to, since: record.lifecycle.last?.since,
            firstSeen: record.firstSeen, lastSeen: record.lastSeen,
            lastSample: record.lastSample.map(Timestamp.init(microseconds:)), samples: Int64(record.counts.stored),
            duplicates: Int64(record.counts.duplicates), conflicts: Int64(record.counts.conflicts), epochs: epochs,
            isForgotten: record.lifecycle.isForgotten)
    }
}

extension StoreReader {
    /// Returns a summary of every device, ordered by group and device id.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func devices() throws(StoreError) -> [DeviceSummary] { try storedDevices().map(\.summary) }

    /// Returns everything that the store knows of its devices, besides their samples, ordered by group and device.
    package func storedDevices() throws(StoreError) -> [StoredDevice] { try reading { try stored() } }

    /// Returns what is stored of all devices or of one, ordered by group and device.
    func stored(_ device: Int64? = nil) throws(StoreError) -> [StoredDevice] {
        let numbers = try BatchNumbers.read(source, where: device.map { "device_id = \($0)" })
        return try DeviceRecord.read(source, id: device).map { record in
            StoredDevice(
                record: record,
                epochs: (numbers[record.id] ?? [:]).sorted { $0.key < $1.key }.map { epoch, numbers in
                    EpochVerification(numbers, of: epoch, isCurrent: epoch == record.lifecycle.epoch)
                })
        }
    }
}
