public import LockstepModel

/// The result of a commit: sample counts and batch numbers.
public struct IngestResult: Sendable, Equatable {
    /// The numbers of stored, duplicate and conflicting samples of one device.
    public struct Counts: Sendable, Hashable {
        /// The number of new samples.
        public var stored: Int
        /// The number of samples that were already stored, or already recorded as a conflict, with the same values.
        public var duplicates: Int
        /// The number of samples that were already stored with different values. The stored values do not change; the
        /// new values are recorded as a conflict.
        public var conflicts: Int

        /// Creates counts.
        public init(stored: Int = 0, duplicates: Int = 0, conflicts: Int = 0) {
            self.stored = stored
            self.duplicates = duplicates
            self.conflicts = conflicts
        }

        /// Adds the counts of `right` to `left`.
        public static func += (left: inout Counts, right: Counts) {
            left.stored += right.stored
            left.duplicates += right.duplicates
            left.conflicts += right.conflicts
        }
    }

    /// The counts of each device whose row in `devices` the transaction changed.
    public var devices: [DeviceAddress: Counts]
    /// All batch numbers received or dropped so far, for each device and epoch that the transaction contains.
    /// Acknowledgements are based on them.
    public var received: [DeviceEpoch: SequenceSet]

    /// Creates a result.
    public init(devices: [DeviceAddress: Counts] = [:], received: [DeviceEpoch: SequenceSet] = [:]) {
        self.devices = devices
        self.received = received
    }
}

/// A device and one of its epochs: the scope of batch numbers.
public struct DeviceEpoch: Hashable, Sendable, CustomStringConvertible {
    /// The device.
    public let device: DeviceAddress
    /// The epoch.
    public let epoch: Epoch
    /// The hash of both. It is computed once, because each batch is looked up in about ten dictionaries.
    private let hash: Int

    /// Creates the scope of batch numbers.
    public init(device: DeviceAddress, epoch: Epoch) {
        self.device = device
        self.epoch = epoch
        var hasher = Hasher()
        hasher.combine(device)
        hasher.combine(epoch)
        hash = hasher.finalize()
    }

    /// Returns whether both scopes have the same device and epoch.
    public static func == (left: DeviceEpoch, right: DeviceEpoch) -> Bool {
        left.hash == right.hash && left.epoch == right.epoch && left.device == right.device
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// The device and the epoch as text: `GROUP/DEVICE EPOCH`.
    public var description: String { "\(device) \(epoch)" }
}
