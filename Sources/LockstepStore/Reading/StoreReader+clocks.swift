public import LockstepModel

extension StoreReader {
    /// The time in µs by which estimates before and after a time range are read as well.
    private static let clockMargin: Int64 = 3_600_000_000

    public func clockPoints(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, on timeLine: ClockTimeLine
    ) throws(StoreError) -> [ClockPoint] {
        try reading {
            guard let id = try driver.id(of: device) else { return [] }
            let rows = source.dialect.clocks(id)
            let waiting = try driver.waitingClocks()[id] ?? []
            var counts: [CollectorID: Int64] = [:]
            for point in waiting { counts[point.collector, default: 0] += 1 }
            for (collector, count) in try source.rows(
                "SELECT collector, count(*) FROM \(rows) AS estimates GROUP BY collector",
                { row throws(StoreError) in (CollectorID(unchecked: row.text(at: 0) ?? ""), row.int64(at: 1)) })
            {
                counts[collector, default: 0] += count
            }
            // The first one of those with the most.
            let chosen = counts.min { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
            guard let collector = chosen?.key else { return [] }
            let first = from.map { max($0.microseconds, .min + Self.clockMargin) - Self.clockMargin } ?? .min
            let last = to.map { min($0.microseconds, .max - Self.clockMargin) + Self.clockMargin } ?? .max
            let time = timeLine.expression
            let own = "FROM \(rows) AS estimates WHERE collector = \(source.literal(collector.rawValue))"
            let stored = try source.rows(
                """
                SELECT \(StoreDialect.clockColumns) \(own) AND ((\(time) >= \(first) AND \(time) <= \(last))
                    OR \(time) = (SELECT max(\(time)) \(own) AND \(time) < \(first))
                    OR \(time) = (SELECT min(\(time)) \(own) AND \(time) > \(last)))
                """, { row throws(StoreError) in clockPoint(row, at: 0) })
            let points = stored + waiting.filter { $0.collector == collector }
            let times = points.map { timeLine.time(of: $0) }
            let before = times.filter { $0 < first }.max()
            let after = times.filter { $0 > last }.min()
            return zip(points, times)
                .filter { ($1 >= first && $1 <= last) || $1 == before || $1 == after }
                .map(\.0).sorted { $0.time < $1.time }
        }
    }

    public func newestClocks() throws(StoreError) -> [(device: DeviceAddress, point: ClockPoint)] {
        try reading {
            let points = try newestClocks(of: nil)
            return try devices().compactMap { address, id in points[id].map { (address, $0) } }
        }
    }

    /// Returns the newest estimate of all devices or of one, by device id.
    func newestClocks(of device: Int64?) throws -> [Int64: ClockPoint] {
        let stored = try source.rows(
            source.dialect.newestClocks(device.map { "device_id = \($0)" } ?? "1 = 1"),
            { row throws(StoreError) in (row.int64(at: 0), clockPoint(row, at: 1)) })
        let waiting = try driver.waitingClocks().filter { device == nil || $0.key == device }
            .flatMap { id, points in points.map { (id, $0) } }
        return Dictionary(stored + waiting) { first, second in
            second.time - second.offset > first.time - first.offset ? second : first
        }
    }

    /// Returns all estimates of the clock of a device.
    package func storedClocks(of device: DeviceAddress) throws(StoreError) -> [DeviceClock] {
        try reading {
            guard let id = try driver.id(of: device) else { return [] }
            return try source.rows(
                "SELECT \(StoreDialect.clockColumns), epoch FROM clocks WHERE device_id = \(id) ORDER BY t"
            ) { row throws(StoreError) in
                row.text(at: 7).map {
                    DeviceClock(device: device, epoch: Epoch(unchecked: $0), point: clockPoint(row, at: 0))
                }
            }
        }
    }
}

/// Reads an estimate from the columns `column` and following.
private func clockPoint(_ row: some StoreRow, at column: Int) -> ClockPoint {
    ClockPoint(
        collector: CollectorID(unchecked: row.text(at: column) ?? ""),
        time: Timestamp(microseconds: row.int64(at: column + 1)),
        segment: Timestamp(microseconds: row.int64(at: column + 2)), offset: row.int64(at: column + 3),
        skew: Int64((row.double(at: column + 4) * 1000).rounded()), bound: row.int64(at: column + 5),
        skewBound: Int64((row.double(at: column + 6) * 1000).rounded()))
}
