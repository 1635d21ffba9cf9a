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
        /// The number of samples that arrived after the rules of retention had deleted those of their time. They are not
        /// stored.
        public var expired: Int

        /// Creates counts.
        public init(stored: Int = 0, duplicates: Int = 0, conflicts: Int = 0, expired: Int = 0) {
            self.stored = stored
            self.duplicates = duplicates
            self.conflicts = conflicts
            self.expired = expired
        }

        /// Adds the counts of `right` to `left`.
        public static func += (left: inout Counts, right: Counts) {
            left.stored += right.stored
            left.duplicates += right.duplicates
            left.conflicts += right.conflicts
            left.expired += right.expired
        }
    }

    /// All batch numbers of a device and epoch.
    public struct Scope: Sendable, Equatable {
        /// The device and epoch.
        public let key: DeviceEpoch
        /// A small number that identifies `key` while the store is open.
        public let number: Int
        /// The batch numbers received or dropped so far. Acknowledgements are based on them.
        public var received: SequenceSet

        /// Creates the batch numbers of a device and epoch.
        public init(key: DeviceEpoch, number: Int, received: SequenceSet) {
            self.key = key
            self.number = number
            self.received = received
        }
    }

    /// The counts of each device whose row in `devices` the transaction changed, each once.
    public var counts: [(device: DeviceAddress, counts: Counts)] = []
    /// The batch numbers of each device and epoch that the transaction contains, each once.
    public var scopes: [Scope] = []
    /// The notifications that the transaction added.
    public var deliveries: [EventDelivery] = []
    /// The acknowledged events of the transaction that are in the store, with the times of their first acknowledgement.
    public var acknowledged: [StoredAcknowledgement] = []

    /// Creates an empty result.
    public init() {}

    /// Creates a result with the counts of devices.
    public init(devices: [DeviceAddress: Counts]) { counts = devices.map { ($0, $1) } }

    /// The counts by device. It takes time in proportion to the number of devices.
    public var devices: [DeviceAddress: Counts] { Dictionary(uniqueKeysWithValues: counts.map { ($0, $1) }) }

    /// The batch numbers by device and epoch. It takes time in proportion to their number.
    public var received: [DeviceEpoch: SequenceSet] {
        Dictionary(uniqueKeysWithValues: scopes.map { ($0.key, $0.received) })
    }

    /// Returns whether both results have the same counts and batch numbers, in any order.
    public static func == (left: IngestResult, right: IngestResult) -> Bool {
        left.devices == right.devices && left.received == right.received
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
