public import LockstepModel

/// What ``StoreReader/verification(devices:counting:)`` has found of one device.
public struct DeviceVerification: Hashable, Sendable {
    /// What the store knows of it.
    public let device: StoredDevice
    /// Its address.
    public var address: DeviceAddress { device.address }
    /// The batch numbers of each epoch, ordered by epoch id.
    public var epochs: [EpochVerification] { device.epochs }
    /// The number of samples of each stream that has samples, in the order of the store's ``/LockstepModel/StreamCatalog``,
    /// or nothing if they were not counted.
    public let samples: [StreamCount]
    /// The number of conflicting samples that are kept, or that the store has counted.
    public let conflicts: Int64

    /// The number of samples of one stream.
    public struct StreamCount: Hashable, Sendable {
        /// The stream.
        public let stream: SensorStream
        /// The number of samples.
        public let count: Int64
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

    /// - Parameter isCurrent: whether it is the epoch of the device's newest presence.
    package init(_ numbers: BatchNumbers, of epoch: Epoch, isCurrent: Bool) {
        self.epoch = epoch
        received = numbers.received
        report = numbers.report
        // If an acknowledgement is lost, the agent may drop a batch that was received.
        dropped = numbers.dropped.subtracting(received)
        let gaps = received.union(numbers.dropped).gaps
        self.gaps = gaps
        // A device that reports nothing may have nothing.
        missing = report.map { gaps.intersection($0.gone) } ?? (isCurrent ? SequenceSet() : gaps)
        earlier = report.map { gaps.intersection($0.before) } ?? SequenceSet()
        onItsWay = gaps.subtracting(missing).subtracting(earlier)
    }
}

/// The result of comparing a block of samples with the store.
public struct BlockComparison: Hashable, Sendable {
    /// The number of samples that are stored with equal values.
    public package(set) var present: Int
    /// The times of samples that are not stored, in µs since 1970.
    public package(set) var missing: [Int64]
    /// The times of samples that are stored with different values, in µs since 1970.
    public package(set) var different: [Int64]
    /// The number of samples that have left the store by the rules of retention.
    public package(set) var expired = 0
    /// The number of samples that are not stored because a person has deleted them.
    public package(set) var deleted = 0

    package init(present: Int = 0, missing: [Int64] = [], different: [Int64] = []) {
        self.present = present
        self.missing = missing
        self.different = different
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
            let stored = try stored()
            // Without a count, the server and SQLite answer from what they have counted.
            let streams = try counting ? catalog().streams.map { (stream: $0, counts: try driver.counts(of: $0)) } : []
            return stored.filter { devices?.contains($0.address) ?? true }.map { device in
                let counts = streams.compactMap { stream, counts in counts[device.record.id].map { (stream, $0) } }
                return DeviceVerification(
                    device: device,
                    samples: counts.filter { $1.samples > 0 }.map { .init(stream: $0, count: $1.samples) },
                    conflicts: counting ? counts.reduce(0) { $0 + $1.1.conflicts } : device.conflicts)
            }
        }
    }

    /// Compares every sample of `block` with the stored samples of `device`. It reads all samples between the oldest and the
    /// newest one of the block.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func compare(_ block: SampleBlock, of device: DeviceAddress) throws(StoreError) -> BlockComparison {
        try reading {
            var comparison = BlockComparison()
            guard let first = block.times.min(), let last = block.times.max() else { return comparison }
            var stored: [Int64: [Double]] = [:]
            if let id = try driver.id(of: device) {
                try driver.rows(.samples, of: block.stream, [id], first..<last + 1, until: nil) { _, time, values in
                    stored[time.microseconds] = values
                    return true
                }
            }
            for (index, time) in block.times.enumerated() {
                guard let values = stored[time] else {
                    comparison.missing.append(time)
                    continue
                }
                if block.stream.isEqual(index, of: block, to: values) {
                    comparison.present += 1
                } else {
                    comparison.different.append(time)
                }
            }
            try explain(&comparison, block.stream, device)
            return comparison
        }
    }

    /// Tells what is not stored on purpose from what is missing.
    private func explain(
        _ comparison: inout BlockComparison, _ stream: SensorStream, _ device: DeviceAddress
    ) throws {
        guard !comparison.missing.isEmpty, let id = try driver.id(of: device) else { return }
        let removed = try removedTimes(of: stream, device, id: id)
        comparison.missing.removeAll { time in
            switch removed.reason(time) {
            case .deleted: comparison.deleted += 1
            case .expired: comparison.expired += 1
            case nil: return false
            }
            return true
        }
    }
}
