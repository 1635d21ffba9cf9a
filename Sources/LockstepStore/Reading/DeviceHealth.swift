public import LockstepModel

/// Faults in the delivery of one device.
public struct DeviceHealth: Sendable {
    /// A sample that arrived with another value for a stored time.
    public struct Conflict: Hashable, Sendable {
        /// The name of the stream.
        public let stream: String
        /// The time of the sample.
        public let time: Timestamp
        /// The stored values, as JSON.
        public let stored: String
        /// The values received later, as JSON.
        public let received: String
        /// The time of receipt, on the collector's clock.
        public let receivedAt: Timestamp

        package init(stream: String, time: Timestamp, stored: String, received: String, receivedAt: Timestamp) {
            self.stream = stream
            self.time = time
            self.stored = stored
            self.received = received
            self.receivedAt = receivedAt
        }
    }

    /// What the store knows of the device.
    public let device: StoredDevice
    /// The number of stored rejected messages of the device. A store keeps only the newest of all devices.
    public let rejected: Int64
    /// The newest estimate of the device's clock, or nil if there is none.
    public let clock: ClockPoint?
    /// The newest conflicts by time of receipt, the newest first.
    public let recentConflicts: [Conflict]
    /// The newest rejected messages, the newest first.
    public let recentRejections: [RejectedMessage]
}
