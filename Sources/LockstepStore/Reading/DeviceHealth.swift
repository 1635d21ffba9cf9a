public import LockstepModel
import LockstepSQLite

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

    /// Counters, missing and dropped batches, first and last message.
    public let summary: DeviceSummary
    /// The number of stored rejected messages of the device. A store keeps only the newest of all devices.
    public let rejected: Int64
    /// The newest estimate of the device's clock, or nil if there is none.
    public let clock: ClockPoint?
    /// The newest conflicts by time of receipt, the newest first.
    public let recentConflicts: [Conflict]
    /// The newest rejected messages, the newest first.
    public let recentRejections: [RejectedMessage]

    package init(
        summary: DeviceSummary, rejected: Int64, clock: ClockPoint?, recentConflicts: [Conflict],
        recentRejections: [RejectedMessage]
    ) {
        self.summary = summary
        self.rejected = rejected
        self.clock = clock
        self.recentConflicts = recentConflicts
        self.recentRejections = recentRejections
    }
}

extension StoreReader {
    /// Returns the faults in the delivery of a device, or nil if it is not stored.
    ///
    /// A rejected message is one of the device if its topic contains `/GROUP/DEVICE/`.
    /// - Parameter limit: the maximum number of conflicts and of rejected messages.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func health(
        of device: DeviceAddress, limit: Int = 10, cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> DeviceHealth? {
        try reading(until: cancellation) {
            guard let id = try id(of: device), let summary = try summaries(of: id).first?.summary else { return nil }
            let count = try database.prepare("SELECT count(*) FROM rejected WHERE instr(topic, ?1)")
            try count.bind("/\(device)/", at: 1)
            return DeviceHealth(
                summary: summary, rejected: try count.step() ? count.int64(at: 0) : 0,
                clock: try newestClock(of: id),
                recentConflicts: try conflicts(of: id, .min ..< .max, limit: Int64(max(0, limit))),
                recentRejections: try rejections(of: device, limit: Int64(max(0, limit))))
        }
    }

    /// Returns the conflicts of a device in a range of times, those received last first.
    func conflicts(
        of device: Int64, _ times: Range<Int64>, limit: Int64
    ) throws(SQLiteError) -> [DeviceHealth.Conflict] {
        let select = try database.prepare(
            """
            SELECT stream, t, stored, received, at FROM conflicts
            WHERE device_id = ?1 AND t >= ?3 AND t < ?4
            ORDER BY at DESC, t DESC, stream, received LIMIT ?2
            """)
        try select.bind(device, at: 1)
        try select.bind(limit, at: 2)
        try select.bind(times.lowerBound, at: 3)
        try select.bind(times.upperBound, at: 4)
        var conflicts: [DeviceHealth.Conflict] = []
        while try select.step() {
            conflicts.append(
                DeviceHealth.Conflict(
                    stream: select.text(at: 0) ?? "", time: Timestamp(microseconds: select.int64(at: 1)),
                    stored: select.text(at: 2) ?? "", received: select.text(at: 3) ?? "",
                    receivedAt: Timestamp(microseconds: select.int64(at: 4))))
        }
        return conflicts
    }

    private func rejections(of device: DeviceAddress, limit: Int64) throws(SQLiteError) -> [RejectedMessage] {
        let select = try database.prepare(
            "SELECT at, topic, reason, size, head FROM rejected WHERE instr(topic, ?1) ORDER BY id DESC LIMIT ?2")
        try select.bind("/\(device)/", at: 1)
        try select.bind(limit, at: 2)
        var messages: [RejectedMessage] = []
        while try select.step() { messages.append(Self.rejection(select)) }
        return messages
    }

    /// Returns the message in a row with the columns at, topic, reason, size and head.
    static func rejection(_ select: SQLiteStatement) -> RejectedMessage {
        RejectedMessage(
            at: Timestamp(microseconds: select.int64(at: 0)), topic: select.text(at: 1) ?? "",
            reason: select.text(at: 2) ?? "", size: Int(select.int64(at: 3)), head: select.bytes(at: 4) ?? [])
    }
}
