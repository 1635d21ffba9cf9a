public import LockstepModel
import LockstepSQLite

extension StoreReader {
    /// The time in µs by which estimates before and after a time range are read as well.
    private static let clockMargin: Int64 = 3_600_000_000

    /// Returns the estimates of a device's clock in a time range on the device's time line, with those up to an hour
    /// before and after it, or the nearest ones if there are none.
    ///
    /// If several collectors compared their clocks, only the estimates of the collector with the most are returned.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func clockPoints(
        of device: DeviceAddress, from: Timestamp? = nil, to: Timestamp? = nil
    ) throws(StoreError) -> [ClockPoint] {
        try clockPoints(of: device, from: from, to: to, time: "t")
    }

    /// Returns the estimates of a device's clock in a time range on the collector's clock, as
    /// ``clockPoints(of:from:to:)`` does on the device's time line.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func clockPoints(
        of device: DeviceAddress, fromCollectorTime from: Timestamp?, to: Timestamp?
    ) throws(StoreError) -> [ClockPoint] {
        try clockPoints(of: device, from: from, to: to, time: "t - offset")
    }

    /// - Parameter time: the time of an estimate in SQL.
    private func clockPoints(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, time: String
    ) throws(StoreError) -> [ClockPoint] {
        try reading {
            guard let id = try id(of: device) else { return [] }
            let choice = try database.prepare(
                "SELECT collector FROM clocks WHERE device_id = ? GROUP BY collector ORDER BY count(*) DESC, collector")
            try choice.bind(id, at: 1)
            guard try choice.step(), let collector = choice.text(at: 0) else { return [] }
            let first = from.map { max($0.microseconds, .min + Self.clockMargin) - Self.clockMargin } ?? .min
            let last = to.map { min($0.microseconds, .max - Self.clockMargin) + Self.clockMargin } ?? .max
            let select = try database.prepare(
                """
                SELECT collector, t, segment, offset, skew, bound, skew_bound FROM clocks
                WHERE device_id = ?1 AND collector = ?2 AND (TIME BETWEEN ?3 AND ?4
                    OR TIME = (SELECT max(TIME) FROM clocks WHERE device_id = ?1 AND collector = ?2 AND TIME < ?3)
                    OR TIME = (SELECT min(TIME) FROM clocks WHERE device_id = ?1 AND collector = ?2 AND TIME > ?4))
                ORDER BY t
                """.replacing("TIME", with: time))
            try select.bind(id, at: 1)
            try select.bind(collector, at: 2)
            try select.bind(first, at: 3)
            try select.bind(last, at: 4)
            var points: [ClockPoint] = []
            while try select.step() { points.append(clockPoint(select, at: 0)) }
            return points
        }
    }

    /// Returns the newest estimate of the clock of each device that has any, ordered by group and device.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func newestClocks() throws(StoreError) -> [(device: DeviceAddress, point: ClockPoint)] {
        try reading {
            let select = try newestClockStatement()
            var clocks: [(device: DeviceAddress, point: ClockPoint)] = []
            for device in try numberedDevices() {
                if let point = try newestClock(select, of: device.id) { clocks.append((device.address, point)) }
            }
            return clocks
        }
    }

    /// Returns the newest estimate of a device's clock, or nil if there is none.
    func newestClock(of device: Int64) throws(SQLiteError) -> ClockPoint? {
        try newestClock(try newestClockStatement(), of: device)
    }

    /// The newest one by the collector's clock, because the device's clock may have been set back.
    private func newestClockStatement() throws(SQLiteError) -> SQLiteStatement {
        try database.prepare(
            """
            SELECT collector, t, segment, offset, skew, bound, skew_bound, max(t - offset) FROM clocks
            WHERE device_id = ?
            """)
    }

    private func newestClock(_ select: SQLiteStatement, of device: Int64) throws(SQLiteError) -> ClockPoint? {
        select.reset()
        try select.bind(device, at: 1)
        return try select.step() && select.text(at: 0) != nil ? clockPoint(select, at: 0) : nil
    }
}

/// Reads an estimate from the columns `column` and following of the current row.
private func clockPoint(_ row: SQLiteStatement, at column: Int) -> ClockPoint {
    ClockPoint(
        collector: CollectorID(unchecked: row.text(at: column) ?? ""),
        time: Timestamp(microseconds: row.int64(at: column + 1)),
        segment: Timestamp(microseconds: row.int64(at: column + 2)), offset: row.int64(at: column + 3),
        skew: Int64((row.double(at: column + 4) * 1000).rounded()), bound: row.int64(at: column + 5),
        skewBound: Int64((row.double(at: column + 6) * 1000).rounded()))
}
