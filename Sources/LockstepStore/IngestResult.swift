public import LockstepModel

/// What became of a group that was written.
public struct IngestResult: Sendable, Equatable {
    /// What became of a device's samples.
    public struct Counts: Sendable, Hashable {
        /// New samples.
        public var stored: Int
        /// Samples that the store had with the same values, or had noted as a conflict with the same values.
        public var duplicates: Int
        /// Samples that the store had with other values; the first ones stay, these are kept beside them.
        public var conflicts: Int

        public init(stored: Int = 0, duplicates: Int = 0, conflicts: Int = 0) {
            self.stored = stored
            self.duplicates = duplicates
            self.conflicts = conflicts
        }

        public static func += (left: inout Counts, right: Counts) {
            left.stored += right.stored
            left.duplicates += right.duplicates
            left.conflicts += right.conflicts
        }
    }

    /// Of each device that sent batches.
    public var devices: [DeviceAddress: Counts]
    /// Received or dropped, of each (device, epoch) that the group touched: what an acknowledgement is made of.
    public var received: [DeviceEpoch: SequenceSet]

    public init(devices: [DeviceAddress: Counts] = [:], received: [DeviceEpoch: SequenceSet] = [:]) {
        self.devices = devices
        self.received = received
    }
}

/// What batch numbers count within.
public struct DeviceEpoch: Hashable, Sendable, CustomStringConvertible {
    public let device: DeviceAddress
    public let epoch: Epoch

    public init(device: DeviceAddress, epoch: Epoch) {
        self.device = device
        self.epoch = epoch
    }

    public var description: String { "\(device) \(epoch)" }
}
