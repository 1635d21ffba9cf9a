public import LockstepModel
public import LockstepStore

extension ClickHouseReader {
    /// The time in µs by which estimates before and after a time range are read as well.
    private static let clockMargin: Int64 = 3_600_000_000
    /// The columns of an estimate, see ``clockPoint(_:at:)``.
    private static let clockColumns = "collector, t, segment, offset, skew, bound, skew_bound"

    public func clockPoints(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, on timeLine: ClockTimeLine
    ) throws(StoreError) -> [ClockPoint] {
        guard try hasClocks() else { return [] }
        let id = DeviceRecord.id(of: device)
        let choice = try client.rows(
            """
            SELECT collector FROM received_clocks WHERE device_id = \(id)
            GROUP BY collector ORDER BY uniqExact(epoch, t) DESC, collector LIMIT 1
            """)
        guard let collector = choice.first?[0] else { return [] }
        let rows = "FROM received_clocks WHERE device_id = \(id) AND collector = \(literal(collector))"
        let first = from.map { max($0.microseconds, .min + Self.clockMargin) - Self.clockMargin } ?? .min
        let last = to.map { min($0.microseconds, .max - Self.clockMargin) + Self.clockMargin } ?? .max
        let time = timeLine.expression
        var ranges = ["\(time) >= \(first) AND \(time) <= \(last)"]
        for (condition, nearest) in [("\(time) < \(first)", "max(\(time))"), ("\(time) > \(last)", "min(\(time))")] {
            let found = try client.rows("SELECT \(nearest), count() \(rows) AND \(condition)").first
            if let value = found?[0], found?[1] != "0" { ranges.append("\(time) = \(value)") }
        }
        return try client.rows(
            """
            SELECT \(Self.clockColumns) \(rows) AND (\(ranges.map { "(\($0))" }.joined(separator: " OR ")))
            ORDER BY t, epoch LIMIT 1 BY t, epoch
            """
        ).map { row throws(StoreError) in try clockPoint(row, at: 0) }
    }

    public func newestClocks() throws(StoreError) -> [(device: DeviceAddress, point: ClockPoint)] {
        var clocks: [(device: DeviceAddress, point: ClockPoint)] = []
        let points = try newestClocks(of: nil)
        for record in try records() {
            if let point = points[record.id] { clocks.append((record.address, point)) }
        }
        return clocks
    }

    /// Returns the newest estimate of all devices or of one, by device id.
    func newestClocks(of device: Int64?) throws(StoreError) -> [Int64: ClockPoint] {
        guard try hasClocks() else { return [:] }
        let values = (1...7).map { "latest.\($0)" }.joined(separator: ", ")
        // The newest one by the collector's clock, because the device's clock may have been set back.
        let rows = try client.rows(
            """
            SELECT device_id, \(values) FROM (
                SELECT device_id, argMax((\(Self.clockColumns)), t - offset) AS latest FROM received_clocks
                \(device.map { "WHERE device_id = \($0)" } ?? "") GROUP BY device_id
            )
            """)
        var points: [Int64: ClockPoint] = [:]
        for row in rows {
            guard let id = row[0].flatMap({ Int64($0) }) else { continue }
            points[id] = try clockPoint(row, at: 1)
        }
        return points
    }

    /// Returns whether the store has estimates. Stores of earlier versions have no table for them.
    private func hasClocks() throws(StoreError) -> Bool { try hasTable("received_clocks") }

    /// Reads an estimate from the columns `column` and following.
    private func clockPoint(_ row: [String?], at column: Int) throws(StoreError) -> ClockPoint {
        func number(_ index: Int) -> Int64? { row[column + index].flatMap { Int64($0) } }
        func rate(_ index: Int) -> Int64? {
            row[column + index].flatMap { Double($0) }.flatMap { Int64(exactly: ($0 * 1000).rounded()) }
        }
        guard row.count == column + 7, let collector = row[column], let time = number(1), let segment = number(2),
            let offset = number(3), let skew = rate(4), let bound = number(5), let skewBound = rate(6)
        else { throw StoreError(.corrupt, "a row of received_clocks is damaged: \(row.compactMap(\.self))") }
        return ClockPoint(
            collector: CollectorID(unchecked: collector), time: Timestamp(microseconds: time),
            segment: Timestamp(microseconds: segment), offset: offset, skew: skew, bound: bound, skewBound: skewBound)
    }
}
