public import LockstepModel
import LockstepSQLite

extension StoreReader {
    /// The time in µs by which estimates before and after a time range are read as well.
    private static let clockMargin: Int64 = 3_600_000_000

    public func clockPoints(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, on timeLine: ClockTimeLine
    ) throws(StoreError) -> [ClockPoint] {
        try reading {
            guard let id = try id(of: device) else { return [] }
            let waiting = try waitingClocks(of: id)
            let choice = try database.prepare(
                "SELECT collector, count(*) FROM _clocks WHERE device_id = ? GROUP BY collector")
            try choice.bind(id, at: 1)
            var counts: [CollectorID: Int64] = [:]
            while try choice.step() {
                if let name = choice.text(at: 0) { counts[CollectorID(unchecked: name)] = choice.int64(at: 1) }
            }
            for point in waiting { counts[point.collector, default: 0] += 1 }
            // The first one of those with the most.
            let chosen = counts.min { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
            guard let collector = chosen?.key else { return [] }
            let first = from.map { max($0.microseconds, .min + Self.clockMargin) - Self.clockMargin } ?? .min
            let last = to.map { min($0.microseconds, .max - Self.clockMargin) + Self.clockMargin } ?? .max
            let points =
                try storedClocks(of: id, collector, first, last, timeLine)
                + waiting.filter { $0.collector == collector }
            let times = points.map { timeLine.time(of: $0) }
            let before = times.filter { $0 < first }.max()
            let after = times.filter { $0 > last }.min()
            return zip(points, times)
                .filter { ($1 >= first && $1 <= last) || $1 == before || $1 == after }
                .map(\.0).sorted { $0.time < $1.time }
        }
    }

    /// Returns the estimates of a device in the table in a time range, and the nearest ones before and after it.
    private func storedClocks(
        of device: Int64, _ collector: CollectorID, _ first: Int64, _ last: Int64, _ timeLine: ClockTimeLine
    ) throws(SQLiteError) -> [ClockPoint] {
        let select = try database.prepare(
            """
            SELECT collector, t, segment, offset, skew, bound, skew_bound FROM _clocks
            WHERE device_id = ?1 AND collector = ?2 AND (TIME BETWEEN ?3 AND ?4
                OR TIME = (SELECT max(TIME) FROM _clocks WHERE device_id = ?1 AND collector = ?2 AND TIME < ?3)
                OR TIME = (SELECT min(TIME) FROM _clocks WHERE device_id = ?1 AND collector = ?2 AND TIME > ?4))
            """.replacing("TIME", with: timeLine.expression))
        try select.bind(device, at: 1)
        try select.bind(collector.rawValue, at: 2)
        try select.bind(first, at: 3)
        try select.bind(last, at: 4)
        var points: [ClockPoint] = []
        while try select.step() { points.append(clockPoint(select, at: 0)) }
        return points
    }

    /// Returns the estimates of a device that wait. Those of all devices are read and cached until the store changes: one scan
    /// is faster than a search for each device.
    private func waitingClocks(of device: Int64) throws(SQLiteError) -> [ClockPoint] {
        try readWaitingClocks()[device] ?? []
    }

    private func readWaitingClocks() throws(SQLiteError) -> [Int64: [ClockPoint]] {
        let version = try database.integer("PRAGMA data_version")
        if let known = waitingClocks, known.version == version { return known.points }
        var points: [Int64: [ClockPoint]] = [:]
        let scan = try database.prepare(
            """
            SELECT \(ClockTable.waitingColumns) FROM _waiting, json_each(rows) AS estimate
            WHERE stream_id = \(ClockTable.streamID) AND \(isWaiting)
            """)
        while try scan.step() {
            points[scan.int64(at: 0), default: []].append(
                ClockPoint(
                    collector: CollectorID(unchecked: scan.text(at: 1) ?? ""),
                    time: Timestamp(microseconds: scan.int64(at: 3)),
                    segment: Timestamp(microseconds: scan.int64(at: 4)), offset: scan.int64(at: 5),
                    skew: Int64((scan.double(at: 6) * 1000).rounded()), bound: scan.int64(at: 7),
                    skewBound: Int64((scan.double(at: 8) * 1000).rounded())))
        }
        waitingClocks = WaitingClocks(version: version, points: points)
        return points
    }

    /// Returns the newest estimate of the clock of each device that has any, ordered by group and device.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func newestClocks() throws(StoreError) -> [(device: DeviceAddress, point: ClockPoint)] {
        try reading {
            let select = try newestClockStatement()
            return try numberedDevices().compactMap { device in
                try newestClock(of: device.id, select).map { (device.address, $0) }
            }
        }
    }

    /// Returns the newest estimate of a device's clock, or nil if there is none.
    func newestClock(of device: Int64) throws(SQLiteError) -> ClockPoint? {
        try newestClock(of: device, try newestClockStatement())
    }

    /// The newest one in the table by the collector's clock, because the device's clock may have been set back.
    private func newestClockStatement() throws(SQLiteError) -> SQLiteStatement {
        try database.prepare(
            """
            SELECT collector, t, segment, offset, skew, bound, skew_bound, max(t - offset) FROM _clocks
            WHERE device_id = ?1
            """)
    }

    private func newestClock(of device: Int64, _ select: SQLiteStatement) throws(SQLiteError) -> ClockPoint? {
        select.reset()
        try select.bind(device, at: 1)
        let stored = try select.step() && select.text(at: 0) != nil ? clockPoint(select, at: 0) : nil
        return try waitingClocks(of: device).reduce(stored) { newer($0, $1) }
    }
}

/// The estimates of clocks that wait, by device id.
struct WaitingClocks {
    /// SQLite's number of the store's state.
    let version: Int64
    let points: [Int64: [ClockPoint]]
}

/// Returns the newer of two estimates by the collector's clock.
private func newer(_ first: ClockPoint?, _ second: ClockPoint?) -> ClockPoint? {
    guard let first, let second else { return first ?? second }
    return second.time - second.offset > first.time - first.offset ? second : first
}

/// Reads an estimate from the columns `column` and following of the current row.
func clockPoint(_ row: SQLiteStatement, at column: Int) -> ClockPoint {
    ClockPoint(
        collector: CollectorID(unchecked: row.text(at: column) ?? ""),
        time: Timestamp(microseconds: row.int64(at: column + 1)),
        segment: Timestamp(microseconds: row.int64(at: column + 2)), offset: row.int64(at: column + 3),
        skew: Int64((row.double(at: column + 4) * 1000).rounded()), bound: row.int64(at: column + 5),
        skewBound: Int64((row.double(at: column + 6) * 1000).rounded()))
}
