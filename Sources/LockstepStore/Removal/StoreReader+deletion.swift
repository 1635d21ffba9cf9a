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
    /// - Parameter withSummaries: whether samples of which only summaries are left count as well.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func preview(
        of deletion: Deletion, withSummaries: Bool = true, until cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> [DeletionDay] {
        try reading(until: cancellation) {
            guard let device = try driver.id(of: deletion.device) else { return [] }
            var days: [DeletionDay] = []
            for stream in try catalog().streams where deletion.covers(stream) {
                guard let samples = try driver.samples(of: stream, device, deletion.times) else { continue }
                var parts = ["SELECT t, 1 AS number FROM \(samples)"]
                if withSummaries, let driver = driver as? SQLiteDriver,
                    let minutes = try driver.minutesAlone(of: stream, device, Minute.around(deletion.times))
                {
                    parts.append("SELECT t, samples FROM \(minutes)")
                }
                days += try source.rows(
                    """
                    SELECT sum(number), min(t), max(t) FROM (\(parts.joined(separator: " UNION ALL ")))
                    GROUP BY t - t % 86400000000 ORDER BY min(t)
                    """
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

extension SensorStream {
    /// The condition that only the summary is left of a row `minute` of the summaries.
    var isAlone: String {
        """
        NOT EXISTS (SELECT 1 FROM \(rowTable) AS sample WHERE sample.device_id = minute.device_id
            AND sample.t >= minute.t AND sample.t < minute.t + \(Minute.length))
        """
    }
}

extension SQLiteDriver {
    /// Returns minutes of which only the summaries are left, as the end of a SELECT; nil if there are none.
    fileprivate func minutesAlone(of stream: SensorStream, _ device: Int64, _ times: Range<Int64>) throws -> String? {
        guard try stream.hasMinutes(in: database),
            let limit = try ExpiredTable.limits(of: stream, in: database)[device], limit > times.lowerBound
        else { return nil }
        return """
            \(stream.minutesTable) AS minute
            WHERE device_id = \(device) AND t >= \(times.lowerBound) AND t < \(min(limit, times.upperBound))
                AND \(stream.isAlone)
            """
    }

    func deletions(of device: Int64?) throws -> [StoredDeletion] {
        try DeletionTable.read(of: device, in: database).map(\.stored)
    }
}
