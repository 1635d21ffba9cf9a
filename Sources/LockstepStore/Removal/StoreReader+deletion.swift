public import LockstepModel

extension StoreReader {
    /// Returns the deletions of a device, or of all, in order of their requests.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func deletions(of device: DeviceAddress?) throws(StoreError) -> [StoredDeletion] {
        try reading {
            let id = try device.map { try driver.id(of: $0) }
            // A device that is not stored has none.
            guard id != .some(nil) else { return [] }
            return try driver.deletions(of: id ?? nil)
        }
    }

    /// Returns what a deletion would delete, by stream and day.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func preview(
        of deletion: Deletion, until cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> [DeletionDay] {
        try reading(until: cancellation) {
            guard let device = try driver.id(of: deletion.device) else { return [] }
            var days: [DeletionDay] = []
            for stream in try catalog().streams where deletion.covers(stream) {
                guard let samples = try driver.samples(of: stream, device, deletion.times) else { continue }
                days += try source.rows(
                    "SELECT count(*), min(t), max(t) FROM \(samples) GROUP BY t - t % 86400000000 ORDER BY min(t)"
                ) { row in
                    DeletionDay(
                        stream: stream.name, count: row.int64(at: 0), first: Timestamp(microseconds: row.int64(at: 1)),
                        last: Timestamp(microseconds: row.int64(at: 2)))
                }
            }
            return days
        }
    }

    /// Returns which samples of a series have left.
    func removedTimes(of stream: SensorStream, _ device: DeviceAddress, id: Int64) throws -> RemovedTimes {
        let deletions = try driver.deletions(of: id).map(\.deletion).filter { $0.covers(stream) }
        return RemovedTimes(limit: try expiryLimit(of: stream, device: id), deleted: deletions.map { (0, $0.times) })
    }
}

extension SQLiteDriver {
    func deletions(of device: Int64?) throws -> [StoredDeletion] {
        try DeletionTable.read(of: device, in: database).map(\.stored)
    }
}
