public import LockstepModel
import LockstepSQLite

/// What the store has of one device, counted from its tables.
public struct DeviceVerification: Hashable, Sendable {
    public let address: DeviceAddress
    /// By epoch id.
    public let epochs: [EpochVerification]
    /// Rows of each stream that has any, in the order of `SensorStream.builtIn`.
    public let samples: [StreamCount]
    /// Samples kept as conflicts.
    public let conflicts: Int64

    /// How many rows a stream has.
    public struct StreamCount: Hashable, Sendable {
        public let stream: SensorStream
        public let count: Int64
    }
}

/// The batch numbers of one epoch of a device.
public struct EpochVerification: Hashable, Sendable {
    public let epoch: Epoch
    public let received: SequenceSet
    /// Dropped by the agent and never received.
    public let dropped: SequenceSet
    /// Neither received nor dropped, below one that is.
    public let gaps: SequenceSet

    init(epoch: Epoch, received: SequenceSet, agentDropped: SequenceSet) {
        self.epoch = epoch
        self.received = received
        // The agent may drop a batch that has come but whose acknowledgement was lost.
        dropped = agentDropped.subtracting(received)
        gaps = received.union(agentDropped).gaps
    }
}

extension StoreReader {
    /// What the store has of every device, counted from its tables: it reads all keys.
    /// - Throws: ``StoreError``
    public func verification() throws(StoreError) -> [DeviceVerification] {
        try reading {
            let epochs = try epochs()
            let conflicts = try counts(in: "conflicts")
            let samples = try SensorStream.builtIn.map { stream in
                (stream: stream, counts: try counts(in: stream.table))
            }
            return try numberedDevices().map { device in
                DeviceVerification(
                    address: device.address, epochs: epochs[device.id] ?? [],
                    samples: samples.compactMap { table in
                        table.counts[device.id].map { .init(stream: table.stream, count: $0) }
                    },
                    conflicts: conflicts[device.id] ?? 0)
            }
        }
    }

    /// Rows of a table by the device's number; none if there is no such table.
    private func counts(in table: String) throws(SQLiteError) -> [Int64: Int64] {
        guard try !StoreSchema.columns(of: table, in: database).isEmpty else { return [:] }
        let select = try database.prepare("SELECT device_id, count(*) FROM \(table) GROUP BY device_id")
        var counts: [Int64: Int64] = [:]
        while try select.step() { counts[select.int64(at: 0)] = select.int64(at: 1) }
        return counts
    }
}
