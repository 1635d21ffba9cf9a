public import LockstepModel

/// Everything that a store knows of a device, besides its samples.
public struct StoredDevice: Hashable, Sendable {
    /// The counts, the times and the life cycle.
    package let record: DeviceRecord
    /// The batch numbers of each epoch, ordered by epoch id.
    public let epochs: [EpochVerification]

    /// The address of the device.
    public var address: DeviceAddress { record.address }
    /// The last change of the life-cycle state, or nil if the state is still unknown, for example because the device has only
    /// sent backlog.
    public var transition: LifecycleTransition? { record.lifecycle.last }
    /// The life-cycle state, or nil if it is unknown.
    public var state: LifecycleState? { transition?.to }
    /// The phase that the agent reported last, or nil if it is unknown.
    public var phase: Phase? { record.lifecycle.phase }
    /// Whether a person has asked to forget the device, and it has sent nothing since. Its samples are still stored.
    public var isForgotten: Bool { record.lifecycle.isForgotten }
    /// The time of the first message of the device, on the collector's clock.
    public var firstSeen: Timestamp? { record.firstSeen }
    /// The time of the last message of the device, on the collector's clock.
    public var lastSeen: Timestamp? { record.lastSeen }
    /// The time of the newest sample, on the device's time line.
    public var lastSample: Timestamp? { record.lastSample.map(Timestamp.init(microseconds:)) }
    /// The number of stored samples in all streams, as the store has counted them.
    public var samples: Int64 { Int64(record.counts.stored) }
    /// The number of samples that were received again with the same values.
    public var duplicates: Int64 { Int64(record.counts.duplicates) }
    /// The number of samples that were received again with different values.
    public var conflicts: Int64 { Int64(record.counts.conflicts) }
    /// The number of missing batches in all epochs: batches below the highest known number that are neither stored nor
    /// dropped, and that the device no longer has.
    public var missing: Int64 { epochs.reduce(0) { $0 + $1.missing.count } }
    /// The number of batches in all epochs that are not stored yet: the device still has them, as far as it has reported.
    public var onItsWay: Int64 { epochs.reduce(0) { $0 + $1.onItsWay.count } }
    /// The number of batches in all epochs that the agent dropped and that were never received.
    public var dropped: Int64 { epochs.reduce(0) { $0 + $1.dropped.count } }
}

extension StoreReader {
    /// Returns everything that the store knows of its devices, besides their samples, ordered by group and device.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func devices() throws(StoreError) -> [StoredDevice] { try reading { try stored() } }

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
